/** Waiting for an event by asking: a driver's own wait has no end where a peer never records what it promised. */
import { environment } from './environment.ts'
import { PeerError, checked, rangeError } from './errors.ts'

export const EVENT_TIMEOUT_MS = 10_000
const MAX_TIMEOUT_MS = 2 ** 31 - 1

export function eventTimeout(timeoutMs: unknown, what: string): number {
  if (timeoutMs === undefined) return EVENT_TIMEOUT_MS
  if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0) || timeoutMs > MAX_TIMEOUT_MS) {
    throw rangeError('invalid-timeout', `${what}: the timeout must be from 0 to ${MAX_TIMEOUT_MS} milliseconds`)
  }
  return timeoutMs
}

export function timedOut(timeoutMs: number, what: string): PeerError {
  return new PeerError('timeout', `${what}: the event was not done within ${timeoutMs} ms`)
}

/** For how long it is asked again and again, and how long the pauses between two questions become after that. */
const BUSY_MS = 0.2
const MOST_PAUSE_MS = 1

const pause = new Int32Array(new SharedArrayBuffer(4))

/** Blocks this thread until the event is done. */
export function waitForEvent(claim: number, timeoutMs: number, what: string): void {
  const { native } = environment()
  const started = performance.now()
  for (let pauseMs = 0.02; !checked(() => native.eventQuery(claim)); ) {
    const waited = performance.now() - started
    if (waited >= timeoutMs) throw timedOut(timeoutMs, what)
    if (waited < BUSY_MS) continue
    Atomics.wait(pause, 0, 0, Math.min(pauseMs, timeoutMs - waited))
    pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS)
  }
}
