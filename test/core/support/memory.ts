/** The core's memory outside of the I/O region, where no call with hostile arguments may write. */
import type { CoreExports } from '../../../host/core/index.ts'
import { createHash } from 'node:crypto'

export function outsideHash(core: CoreExports): string {
  const bytes = new Uint8Array(core.memory.buffer)
  const [io, end] = [core.ioAddress(), core.ioAddress() + core.ioSize()]
  return `${bytes.length} ${createHash('sha256').update(bytes.subarray(0, io)).update(bytes.subarray(end)).digest('hex')}`
}
