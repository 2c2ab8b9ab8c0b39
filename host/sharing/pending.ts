/** The requests of a session that have no answer yet. */
import { PeerError } from '../errors.ts'
import type { RequestOptions } from './request.ts'

interface Asked<Answer> {
  send(id: number): void
  /** Takes the answer; gone once the asker has given up. */
  take: ((answer: Answer) => void) | undefined
  reject(error: unknown): void
  /** On the clock of performance.now(), in milliseconds. */
  readonly until: number
  giveUp(error: Error): void
  late(): Error
}

/** Requests without an answer. A channel takes 64 sends at a time, and releases go between them. */
const MOST_SENT = 48
const LONGEST_TIMER = 2 ** 31 - 1

export class Pending<Answer> {
  readonly #sent = new Map<number, Asked<Answer>>()
  readonly #queue = new Set<Asked<Answer>>()
  readonly #onBusy: (isBusy: boolean) => void
  /** Requests that somebody still waits for. */
  #waiting = 0
  // One timer for all: requests that are answered in time, which is nearly all of them, set and clear none.
  #timer: NodeJS.Timeout | undefined
  #timerAt = Infinity
  #last = 0
  #failure: Error | undefined

  /** @param onBusy - told when there are requests, and when there are none any more */
  constructor(onBusy: (isBusy: boolean) => void) {
    this.#onBusy = onBusy
  }

  /**
   * Sends a request, when fewer than 48 are without an answer. `take` gets the answer in the same turn
   * that it came in. Giving up (deadline, signal) does not take the request back: `answer` then finds nobody.
   */
  ask<T>(send: (id: number) => void, take: (answer: Answer) => T, { signal, timeoutMs = Infinity }: RequestOptions, what: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure)
      if (signal?.aborted) return reject(signal.reason as Error)
      const done = (): void => {
        asked.take = undefined
        signal?.removeEventListener('abort', abort)
        if (--this.#waiting === 0) this.#onBusy(false)
      }
      const abort = (): void => asked.giveUp(signal!.reason as Error)
      const asked: Asked<Answer> = {
        send,
        until: performance.now() + timeoutMs,
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
        giveUp: (error) => {
          this.#queue.delete(asked)
          asked.reject(error)
        },
        late: () => new PeerError('timeout', `${what}: no answer within ${Math.round(timeoutMs)} ms`),
      }
      signal?.addEventListener('abort', abort, { once: true })
      if (this.#waiting++ === 0) this.#onBusy(true)
      if (asked.until < this.#timerAt) this.#wakeAt(asked.until)
      if (this.#sent.size < MOST_SENT) this.#launch(asked)
      else this.#queue.add(asked)
    })
  }

  /** Whoever asked `id` gets the answer, or the error. */
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
    return take === undefined ? 'given up' : 'taken'
  }

  /** Nobody gets an answer any more. */
  fail(error: Error): void {
    this.#failure = error
    const all = [...this.#sent.values(), ...this.#queue]
    this.#sent.clear()
    this.#queue.clear()
    clearTimeout(this.#timer)
    for (const asked of all) if (asked.take !== undefined) asked.reject(error)
  }

  #launch(asked: Asked<Answer>): void {
    const id = (this.#last = (this.#last % 0xffff_ffff) + 1)
    this.#sent.set(id, asked)
    asked.send(id)
  }

  // The channel keeps the process alive while somebody waits; the timer need not.
  #wakeAt(time: number): void {
    clearTimeout(this.#timer)
    this.#timerAt = time
    this.#timer = time === Infinity ? undefined
      : setTimeout(() => this.#giveUpLate(), Math.max(0, Math.min(Math.ceil(time - performance.now()), LONGEST_TIMER))).unref()
  }

  #giveUpLate(): void {
    const now = performance.now()
    let next = Infinity
    for (const asked of [...this.#sent.values(), ...this.#queue]) {
      if (asked.take === undefined) continue
      if (asked.until <= now) asked.giveUp(asked.late())
      else next = Math.min(next, asked.until)
    }
    this.#wakeAt(next)
  }
}
