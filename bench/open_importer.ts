/** The importing process of bench/open.ts: opens and closes what it was given, as often as it is told. */
import { FdChannel, IPCMemoryHandle, PeerError, selectDevice, type Frame } from '../host/index.ts'

const count = Number(process.argv[2])
const device = selectDevice('host')
const channel = FdChannel.adopt(3)
const given: Frame[] = [await channel.receive(), await channel.receive()]
try {
  for (;;) {
    const { bytes: [which] } = await channel.receive()
    const { bytes, descriptors: [descriptor] } = given[which!]!
    const options = { descriptor: descriptor! }
    let start = process.hrtime.bigint()
    for (let i = 0; i < count; i++) IPCMemoryHandle.open(bytes, device, undefined, options).close()
    const cycle = Number(process.hrtime.bigint() - start) / count
    // Opening alone; the clock's own time is in it, for both sizes.
    let open = 0n
    for (let i = 0; i < count; i++) {
      start = process.hrtime.bigint()
      const memory = IPCMemoryHandle.open(bytes, device, undefined, options)
      open += process.hrtime.bigint() - start
      memory.close()
    }
    await channel.send(new TextEncoder().encode(JSON.stringify({ cycle, open: Number(open) / count })))
  }
} catch (error) {
  if (!(error instanceof PeerError)) throw error
}
