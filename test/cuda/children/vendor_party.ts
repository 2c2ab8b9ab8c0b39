/** Opens a raw handle, and gives what it reads. */
import { FdChannel, IPCMemoryHandle, type OpenVendorOptions } from '../../../host/index.ts'
import { decode, encode, parse, say } from '../../support/child.ts'

export interface Request {
  raw: string
  nbytes: number
  options: Omit<OpenVendorOptions, 'descriptor'>
}

export interface Answer {
  bytes?: string
  unchecked?: readonly string[]
  error?: string
}

const channel = FdChannel.adopt(3)
const frame = await channel.receive()
const { raw, nbytes, options } = parse<Request>(frame)
let answer: Answer
try {
  const [descriptor] = frame.descriptors
  using memory = IPCMemoryHandle.openVendor(decode(raw), 'cuda', nbytes, { ...options, ...(descriptor && { descriptor }) })
  const bytes = new Uint8Array(Math.min(nbytes, 10_000))
  memory.copyTo(bytes)
  answer = { bytes: encode(bytes), unchecked: memory.unchecked }
} catch (error) {
  const { code, message } = error as { code?: string; message: string }
  answer = { error: code ?? message }
}
await say(channel, answer)
