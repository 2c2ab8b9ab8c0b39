import { parentPort } from 'node:worker_threads'
import { IPCMemoryHandle, MemoryUSMDevice } from '../../../host/index.ts'
import { asForeign } from '../../support/forge.ts'

const device = 'level_zero'
let times = 0
const bytes = new Uint8Array(70_000)
for (let i = 0; i < 200; i++) {
  using memory = new MemoryUSMDevice(bytes.length, { device })
  memory.fill(i)
  using handle = new IPCMemoryHandle(memory)
  using mapped = IPCMemoryHandle.open(asForeign(handle.toBytes()), device, undefined, { descriptor: handle.descriptors[0]! })
  mapped.copyTo(bytes)
  if (bytes.every((byte) => byte === (i & 255))) times++
}
parentPort!.postMessage(String(times))
