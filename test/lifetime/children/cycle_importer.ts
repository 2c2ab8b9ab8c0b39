/** Opens, reads and closes whatever arrives, on the device named; tells its counts when the frame says so, and with `answering` after each. */
import { FdChannel, IPCMemoryHandle, selectDevice } from '../../../host/index.ts'
import { counts, openDescriptors } from '../../support/counts.ts'
import { say, startChannelThread } from '../../support/child.ts'

const device = selectDevice(process.argv[2] ?? 'host')
const channel = FdChannel.adopt(3)
await startChannelThread()
const byte = new Uint8Array(1)
for (let sum = 0; ; ) {
  const { bytes } = await channel.receive()
  if (bytes.length === 1) {
    await say(channel, { ...counts(), descriptors: openDescriptors(), held: channel.received.size, sum })
    if (bytes[0] === 0) break
    continue
  }
  using mapped = IPCMemoryHandle.open(bytes, device, undefined, { channel })
  mapped.copyTo(byte)
  sum += byte[0]!
  if (process.argv[3] === 'answering') await say(channel, { sum })
}
channel.close()
