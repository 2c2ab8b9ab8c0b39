/** Opens what it is told to with allowPidfd, as the user that it runs as. */
import { FdChannel, IPCMemoryHandle } from '../../../host/index.ts'
import { decode, parse, say } from '../../support/child.ts'

const control = FdChannel.adopt(3)
const { bytes } = parse<{ bytes: string }>(await control.receive())
try {
  using mapped = IPCMemoryHandle.open(decode(bytes), 'host', undefined, { allowPidfd: true })
  const first = new Uint8Array(1)
  mapped.copyTo(first)
  await say(control, { first: first[0], path: mapped.path })
} catch (error) {
  const { code, name, message, call, result } = error as Error & { code: string; call?: string; result?: string }
  await say(control, { code, name, message, call, result })
}
control.close()
