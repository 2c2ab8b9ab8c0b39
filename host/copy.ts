import { typeError } from './errors.ts'
import { checkOptions } from './options.ts'

export interface CopyOptions {
  signal?: AbortSignal
  /** Called with the bytes done and all bytes, after each slice. */
  onProgress?: (done: number, total: number) => void
}

/** 1 MiB: about 100 us of copying, so that timers and sockets are served in between. */
const SLICE = 1 << 20

/** Runs `step` over consecutive slices of `total` bytes and yields to the event loop between them. */
export async function inSlices(total: number, options: CopyOptions, what: string, step: (at: number, size: number) => void): Promise<number> {
  checkOptions(options, ['signal', 'onProgress'], what)
  const { signal, onProgress } = options
  checkSignal(signal, what)
  if (onProgress !== undefined && typeof onProgress !== 'function') throw typeError('invalid-options', `${what}: onProgress must be a function`)
  signal?.throwIfAborted()
  for (let done = 0; done < total; ) {
    const size = Math.min(SLICE, total - done)
    step(done, size)
    done += size
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
