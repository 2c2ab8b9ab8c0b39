/** Opens in turn through a session, by the API without one, and by the bare driver: milliseconds of each. */
import { FdChannel, IPCMemoryHandle, connect } from '../../../host/index.ts'
import { rawDriver } from '../../cuda/raw_driver.ts'
import { decode, parse, say } from '../../support/child.ts'

export interface Answer {
  ours: number[]
  bare: number[]
  session: number[]
  last: number
}

const TIMES = 15
const channel = FdChannel.adopt(3)
const { path, raw: bytes } = parse<{ path: string; raw: string }>(await channel.receive())
const raw = rawDriver()
const handle = decode(bytes)
const session = await connect(path)
const answer: Answer = { ours: [], bare: [], session: [], last: 0 }
const { nbytes } = (await session.list())[0]!

for (let i = 0; i < TIMES + 1; i++) {
  const started = performance.now()
  const memory = await session.open('large')
  const opened = performance.now() - started
  const last = new Uint8Array(1)
  memory.copyTo(last, nbytes - 1)
  answer.last = last[0]!
  memory.close()
  const again = performance.now()
  const alone = IPCMemoryHandle.openVendor(handle, 'cuda', nbytes, { layout: 'cuda' })
  const took = performance.now() - again
  alone.close()
  const [bare] = raw.timeOpenClose(handle, 1)
  if (i === 0) continue // the first of everything
  answer.session.push(opened)
  answer.ours.push(took)
  answer.bare.push(bare! / 1e6)
}
await session.close()
await say(channel, answer)
