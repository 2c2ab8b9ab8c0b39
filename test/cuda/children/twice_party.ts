/** Opens one export twice and a part of the same memory, and closes them one by one. */
import { FdChannel, IPCMemoryHandle, ledger } from '../../../host/index.ts'
import { decode, parse, say } from '../../support/child.ts'

export interface Answer {
  paths: (string | undefined)[]
  /** From the first pointer to each. */
  distances: number[]
  /** Of the driver: when all are open, and after each is closed. */
  mappings: number[]
  /** Read from each just before it is closed. */
  bytes: number[]
  live: number
}

const channel = FdChannel.adopt(3)
const frame = await channel.receive()
const { whole, part } = parse<{ whole: string; part: string }>(frame)
const [descriptor] = frame.descriptors
const options = descriptor === undefined ? {} : { descriptor }
const mappings = (): number => ledger({ process: true }).resources.filter(({ kind }) => kind === 'mapping').length

const memories = [whole, whole, part].map((bytes) => IPCMemoryHandle.open(decode(bytes), 'cuda', undefined, options))
const answer: Answer = {
  paths: memories.map(({ path }) => path),
  distances: memories.map(({ pointer }) => Number(pointer - memories[0]!.pointer)),
  mappings: [mappings()],
  bytes: [],
  live: 0,
}
for (const memory of memories) {
  const byte = new Uint8Array(1)
  memory.copyTo(byte)
  answer.bytes.push(byte[0]!)
  memory.close()
  answer.mappings.push(mappings())
}
await say(channel, { ...answer, live: ledger().live })
