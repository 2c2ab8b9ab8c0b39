/** What an exporter waits for: the end of leases, an answer of `authorize`. */
import { PeerError } from '../errors.ts'
import type { ExportLease, Published } from './published.ts'

/** Until all of these leases have ended, or the time is over. */
export function leasesEnd(shared: Published, held: readonly ExportLease[], graceMs: number | undefined, signal: AbortSignal | undefined): Promise<void> {
  const left = (): boolean => held.some((lease) => shared.leases.has(lease))
  return new Promise((resolve, reject) => {
    if (!left()) return resolve()
    const done = (): void => {
      shared.waiting.delete(check)
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
    const check = (): void => {
      if (left()) return
      done()
      resolve()
    }
    const abort = (): void => {
      done()
      reject(signal!.reason as Error)
    }
    const timer = graceMs === undefined ? undefined : setTimeout(() => (done(), resolve()), graceMs)
    if (signal?.aborted) return abort()
    shared.waiting.add(check)
    signal?.addEventListener('abort', abort, { once: true })
  })
}

/** The answer, or a PeerError where it takes longer. */
export function within<T>(ms: number, value: T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new PeerError('timeout', `authorize gave no answer within ${ms} ms`)), ms).unref()
  })
  return Promise.race([value, late]).finally(() => clearTimeout(timer))
}
