/** The requests of a session that have no answer yet. */
import { PeerError } from '../errors.ts'
import { MAX_OUTSTANDING } from './protocol.ts'
import type { RequestOptions } from './request.ts'

interface Asked<Answer> {
  send(id: number): void
  /** Takes the answer; gone once the asker has given up. */
  take: ((answer: Answer) => void) | undefined
  reject(error: unknown): void
}

export class Pending<Answer> {
  readonly #sent = new Map<number, Asked<Answer>>()
  readonly #queue = new Set<Asked<Answer>>()
  readonly #onBusy: (isBusy: boolean) => void
  #last = 0
  #failure: Error | undefined

  /** @param onBusy - told when there are requests, and when there are none any more */
  constructor(onBusy: (isBusy: boolean) => void) {
    this.#onBusy = onBusy
  }

  /**
   * Sends a request, when fewer than the protocol's limit are without an answer. `take` gets the answer in the same turn
   * that it came in. Giving up (deadline, signal) does not take the request back: `answer` then finds nobody.
   */
  ask<T>(send: (id: number) => void, take: (answer: Answer) => T, { signal, timeoutMs = Infinity }: RequestOptions, what: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure)
      if (signal?.aborted) return reject(signal.reason as Error)
      const giveUp = (error: unknown): void => {
        asked.take = undefined
        this.#queue.delete(asked)
        this.#told()
        done()
        reject(error as Error)
      }
      const abort = (): void => giveUp(signal!.reason)
      const timer = timeoutMs === Infinity ? undefined
        : setTimeout(() => giveUp(new PeerError('timeout', `${what}: no answer within ${timeoutMs} ms`)), Math.max(0, Math.min(timeoutMs, 2 ** 31 - 1)))
      const done = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      }
      const asked: Asked<Answer> = {
        send,
        take: (answer) => {
          done()
          try {
            resolve(take(answer))
          } catch (error) {
            reject(error as Error)
          }
        },
        reject: (error) => {
          done()
          reject(error as Error)
        },
      }
      signal?.addEventListener('abort', abort, { once: true })
      if (this.#sent.size + this.#queue.size === 0) this.#onBusy(true)
      if (this.#sent.size < MAX_OUTSTANDING) this.#launch(asked)
      else this.#queue.add(asked)
    })
  }

  /** Whoever asked `id` gets the answer, or the error. False: nobody asked that. `taken` false in the answer's place: gave up. */
  answer(id: number, answer: Answer | Error): 'taken' | 'given up' | 'never asked' {
    const asked = this.#sent.get(id)
    if (asked === undefined) return 'never asked'
    this.#sent.delete(id)
    const [next] = this.#queue
    if (next !== undefined) {
      this.#queue.delete(next)
      this.#launch(next)
    }
    const { take } = asked
    if (take !== undefined) {
      if (answer instanceof Error) asked.reject(answer)
      else take(answer)
    }
    this.#told()
    return take === undefined ? 'given up' : 'taken'
  }

  /** Nobody gets an answer any more. */
  fail(error: Error): void {
    this.#failure = error
    const all = [...this.#sent.values(), ...this.#queue]
    this.#sent.clear()
    this.#queue.clear()
    for (const asked of all) asked.reject(error)
    this.#told()
  }

  #launch(asked: Asked<Answer>): void {
    const id = (this.#last = (this.#last % 0xffff_ffff) + 1)
    this.#sent.set(id, asked)
    asked.send(id)
  }

  #told(): void {
    if (this.#sent.size + this.#queue.size === 0) this.#onBusy(false)
  }
}
