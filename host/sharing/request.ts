/** Pending native requests as promises: deadlines, abort signals. */
import { checkSignal } from '../copy.ts'
import { fromNative, checked, rangeError, typeError } from '../errors.ts'

export interface RequestOptions {
  /** Aborting it gives the request up; one that has been done already keeps its result. */
  signal?: AbortSignal | undefined
  /** Milliseconds until the request is given up (`ERR_USM_IPC_TIMEOUT`); 0 or less tries once; Infinity, the default, waits. */
  timeoutMs?: number | undefined
}

export const requestOptions = ['signal', 'timeoutMs'] as const

type Done<Native> = (error: Error | null, value?: Native) => void

/** The native form of a deadline: negative for none. */
export function deadline(options: RequestOptions | undefined, where: string): number {
  checkSignal(options?.signal, where)
  const timeoutMs = options?.timeoutMs
  if (timeoutMs === undefined || timeoutMs === Infinity) return -1
  if (typeof timeoutMs !== 'number') throw typeError('invalid-timeout', `${where}: timeoutMs is a number of milliseconds`)
  if (Number.isNaN(timeoutMs)) throw rangeError('invalid-timeout', `${where}: timeoutMs is not a number`)
  // What is left of a time that has passed is no time, not for ever.
  return Math.max(0, timeoutMs)
}

/**
 * The result of one native request, or a promise of it. `start` makes the request and returns its number, 0 when it is
 * done, or what came of it; `cancel` says whether it was still pending; `convert` makes the result. Whatever the native
 * side has done already is never thrown away: the result then wins over the signal.
 */
export function request<Native extends object | undefined, Result>(
  signal: AbortSignal | undefined,
  start: (done: Done<Native>) => number | Native,
  cancel: (request: number) => boolean,
  convert: (value: Native) => Result,
): Result | Promise<Result> {
  if (signal?.aborted) throw signal.reason
  let settle: Done<Native>
  const started = checked(() => start((error, value) => settle(error, value)))
  if (typeof started !== 'number') return convert(started)
  if (started === 0) return convert(undefined as Native)
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      if (cancel(started)) reject(signal?.reason)
    }
    settle = (error, value) => {
      signal?.removeEventListener('abort', abort)
      if (error !== null) return reject(fromNative(error))
      try {
        resolve(convert(value as Native))
      } catch (failure) {
        reject(failure)
      }
    }
    signal?.addEventListener('abort', abort, { once: true })
  })
}
