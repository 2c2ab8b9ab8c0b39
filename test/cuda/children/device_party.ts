/** Opens on the device of a UUID, or on the first one that this process sees. */
import { FdChannel, IPCMemoryHandle, MemoryUSMDevice, listDevices } from '../../../host/index.ts'
import { decode, encode, parse, say } from '../../support/child.ts'

export interface Request {
  bytes: string
  uuid?: string
}

export interface Answer {
  first: string
  bytes?: string
  copied?: boolean
  error?: string
  message?: string
}

const channel = FdChannel.adopt(3)
const { bytes, uuid } = parse<Request>(await channel.receive())
const devices = listDevices().filter(({ backend }) => backend === 'cuda')
const [first] = devices
const answer: Answer = { first: first!.uuid }
try {
  const device = uuid === undefined ? first! : devices.find((d) => d.uuid === uuid)!
  using memory = IPCMemoryHandle.open(decode(bytes), device, undefined, { channel })
  const part = new Uint8Array(16)
  memory.copyTo(part)
  using local = new MemoryUSMDevice(memory.nbytes, { device: first! })
  local.copyFrom(memory)
  const copy = new Uint8Array(16)
  local.copyTo(copy)
  Object.assign(answer, { bytes: encode(part), copied: Buffer.compare(copy, part) === 0 })
} catch (error) {
  const { code, message } = error as { code?: string; message: string }
  Object.assign(answer, { error: code ?? message, message })
}
await say(channel, answer)
