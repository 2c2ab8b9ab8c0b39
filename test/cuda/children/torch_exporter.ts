/** What a PyTorch process is to its consumers: memory, an event behind what has filled it, and their handles. */
import { FdChannel, IPCEvent, IPCMemoryHandle, MemoryUSMDevice, decode } from '../../../host/index.ts'
import { encode, say } from '../../support/child.ts'
import { NBYTES, byteAt, type Answer } from '../torch_exporter.ts'

const channel = FdChannel.adopt(3)
const memory = new MemoryUSMDevice(NBYTES, { device: 'cuda' })
memory.copyFrom(Uint8Array.from({ length: NBYTES }, (_, i) => byteAt(i)))
const event = new IPCEvent({ device: 'cuda' })
event.record()
const handle = new IPCMemoryHandle(memory)
const answer: Answer = { handle: encode(handle.toBytes({ format: 'vendor', layout: 'torch-cuda' })), event: encode(decode(event.toBytes()).handle) }
await say(channel, answer)
await channel.receive() // the end of the test
