import { checkOptions } from './options.ts'
import type { CopyOptions } from './memory.ts'

/** 1 MiB: about 100 us of copying, so that timers and sockets are served in between. */
const SLICE = 1 << 20

/**
 * Runs `step` over consecutive slices and yields to the event loop between them. Each slice is taken from the buffer
 * when its turn comes: one that was detached meanwhile ends the copy with an error instead of being read.
 */
export async function copyInSlices(
  bytes: Uint8Array, options: CopyOptions, what: string, step: (slice: Uint8Array, at: number) => void,
): Promise<number> {
  checkOptions(options, ['signal', 'onProgress'], what)
  const total = bytes.length
  options.signal?.throwIfAborted()
  for (let done = 0; done < total; ) {
    const length = Math.min(SLICE, total - done)
    step(new Uint8Array(bytes.buffer, bytes.byteOffset + done, length), done)
    done += length
    options.onProgress?.(done, total)
    if (done < total) {
      await new Promise((resolve) => setImmediate(resolve))
      options.signal?.throwIfAborted()
    }
  }
  return total
}
