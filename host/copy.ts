import { typeError } from './errors.ts'
import { checkOptions } from './options.ts'

export interface CopyOptions {
  signal?: AbortSignal
  /** Called with the bytes done and all bytes, after each slice. */
  onProgress?: (done: number, total: number) => void
}

/** Bytes of the first slice, and of the largest; of a copy as a whole a slice is a part that shows progress. */
const FIRST = 1 << 20
const LARGEST = 64 << 20
const PARTS = 16
/** Slices grow and shrink until they take about so many milliseconds, after which timers and sockets are served. */
const SHORT = 1
const LONG = 3

/** Runs `step` over consecutive slices of `total` bytes and yields to the event loop between them. */
export async function inSlices(total: number, options: CopyOptions, what: string, step: (at: number, size: number) => void): Promise<number> {
  checkOptions(options, ['signal', 'onProgress'], what)
  const { signal, onProgress } = options
  checkSignal(signal, what)
  if (onProgress !== undefined && typeof onProgress !== 'function') throw typeError('invalid-options', `${what}: onProgress must be a function`)
  signal?.throwIfAborted()
  const largest = Math.max(FIRST, Math.min(LARGEST, Math.ceil(total / PARTS)))
  let slice = FIRST
  for (let done = 0; done < total; ) {
    const size = Math.min(slice, total - done)
    const started = performance.now()
    step(done, size)
    done += size
    const took = performance.now() - started
    if (took < SHORT) slice = Math.min(2 * slice, largest)
    else if (took > LONG) slice = Math.max(slice / 2, FIRST)
    onProgress?.(done, total)
    if (done < total) {
      await new Promise((resolve) => setImmediate(resolve))
      signal?.throwIfAborted()
    }
  }
  return total
}

/** Refuses what only looks like an AbortSignal before anything has begun. */
export function checkSignal(signal: unknown, what: string): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw typeError('invalid-options', `${what}: signal must be an AbortSignal`)
}
