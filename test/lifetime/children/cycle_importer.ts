/** Opens, reads and closes whatever arrives; tells its counts when the frame says so. */
import { FdChannel, IPCMemoryHandle } from '../../../host/index.ts'
import { counts, openDescriptors } from '../../support/counts.ts'
import { say, startChannelThread } from '../../support/child.ts'

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
  using mapped = IPCMemoryHandle.open(bytes, 'host', undefined, { channel })
  mapped.copyTo(byte)
  sum += byte[0]!
}
channel.close()
