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

const WAYS: Record<'session' | 'ours' | 'bare', () => Promise<number>> = {
  async session() {
    const started = performance.now()
    const memory = await session.open('large')
    const took = performance.now() - started
    const last = new Uint8Array(1)
    memory.copyTo(last, nbytes - 1)
    answer.last = last[0]!
    memory.close()
    return took
  },
  async ours() {
    const started = performance.now()
    const memory = IPCMemoryHandle.openVendor(handle, 'cuda', nbytes, { layout: 'cuda' })
    const took = performance.now() - started
    memory.close()
    return took
  },
  async bare() {
    return raw.timeOpenClose(handle, 1)[0]! / 1e6
  },
}

// In turn, each as often behind each other one: what the driver did last has its part in the next.
const ORDERS = [['session', 'ours', 'bare'], ['bare', 'ours', 'session'], ['ours', 'session', 'bare']] as const
for (let i = 0; i < TIMES; i++) {
  for (const way of ORDERS[i % ORDERS.length]!) {
    const took = await WAYS[way]()
    if (i > 0) answer[way].push(took) // not the first of everything
  }
}
await session.close()
await say(channel, answer)
