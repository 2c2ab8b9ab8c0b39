/** Publishes one memory of CUDA as `x`, and waits for its end. */
import { FdChannel, MemoryUSMDevice, listen } from '../../../host/index.ts'
import { say } from '../../support/child.ts'

const [path, ipc, nbytes] = process.argv.slice(2) as [string, 'legacy' | 'fd' | 'pool', string]
const channel = FdChannel.adopt(3)
const memory = new MemoryUSMDevice(Number(nbytes), { device: 'cuda', ipc })
memory.fill(7)
const exporter = await listen({ path })
exporter.publish('x', memory)
await say(channel, { ready: true })
await channel.receive().catch(() => {})
