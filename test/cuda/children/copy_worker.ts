/** Writes and reads again and again, while other threads do the same. */
import { parentPort, workerData } from 'node:worker_threads'
import { MemoryUSMDevice } from '../../../host/index.ts'

const { seed } = workerData as { seed: number }
const NBYTES = (2 << 20) + 12_345 * seed
using memory = new MemoryUSMDevice(NBYTES, { device: 'cuda' })
let wrong = 0
for (let i = 0; i < 12; i++) {
  const bytes = new Uint8Array(NBYTES).fill(seed * 16 + i)
  memory.copyFrom(bytes)
  const back = new Uint8Array(NBYTES)
  memory.copyTo(back)
  if (Buffer.compare(back, bytes) !== 0) wrong++
}
parentPort!.postMessage({ wrong })
