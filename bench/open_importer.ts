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
    const start = process.hrtime.bigint()
    for (let i = 0; i < count; i++) IPCMemoryHandle.open(bytes, device, undefined, { descriptor: descriptor! }).close()
    const time = Number(process.hrtime.bigint() - start) / count
    await channel.send(new TextEncoder().encode(String(time)))
  }
} catch (error) {
  if (!(error instanceof PeerError)) throw error
}
