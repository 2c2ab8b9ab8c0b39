/** A worker that makes views of memory of its own, and keeps or closes what they are of. */
import { parentPort } from 'node:worker_threads'
import { MemoryUSMDevice } from '../../host/index.ts'

const memory = new MemoryUSMDevice(4096, { device: 'host' })
const kept = [memory.view(), memory.view(100, 100)]
const closed = new MemoryUSMDevice(4096, { device: 'host' })
kept.push(closed.view())
closed.close()
parentPort!.on('message', () => parentPort!.postMessage(kept.map((view) => view.length)))
parentPort!.postMessage('made')
