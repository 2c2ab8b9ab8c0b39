/** The importer of bench/cuda.ts: medians in microseconds. */
import { addon } from '../host/addon.ts'
import { claimOf } from '../host/descriptor.ts'
import { FdChannel } from '../host/index.ts'
import { rawDriver } from '../test/cuda/raw_driver.ts'
import { decode, parse, say } from '../test/support/child.ts'
import { built } from './support/built.ts'
import { median } from './support/paired.ts'

export interface Opens {
  first: number
  open: number
  close: number
  bareOpen: number
  bareClose: number
  /** Of what is open already. */
  cachedOpen: number
  cachedClose: number
  bareReopen: number
}

export interface Sessions {
  open: number
  close: number
  roundTrip: number
  cached: number
  /** 1,000 names of one arena. */
  openAll: number
}

const [what, argument] = process.argv.slice(2) as ['opens' | 'session', string]
const channel = FdChannel.adopt(3)
const frame = await channel.receive()
const message = parse<{ bytes: string; raw: string; physical: number }>(frame)
const { IPCMemoryHandle, connect } = await built()

async function opens(count: number): Promise<Opens> {
  const { Descriptor } = await built()
  const [bytes, handle] = [decode(message.bytes), decode(message.raw)]
  // The descriptor that came belongs to the channel's copy of the package: the compiled one duplicates it by number.
  const number = frame.descriptors.length === 0 ? undefined : addon().descriptorNumber(claimOf(frame.descriptors[0]!))
  using descriptor = number === undefined ? undefined : Descriptor.duplicate(number)
  const options = descriptor === undefined ? {} : { descriptor }
  const raw = rawDriver()
  const bare = (n: number): number[] =>
    number === undefined ? raw.timeOpenClose(handle, n) : handle.length === 32 ? raw.timeVmmOpenClose(number, message.physical, n) : raw.timePoolOpenClose(number, handle, n)
  const timed: Record<'open' | 'close' | 'bareOpen' | 'bareClose', number[]> = { open: [], close: [], bareOpen: [], bareClose: [] }
  let first = 0
  for (let i = 0; i < count; i++) {
    const started = performance.now()
    const memory = IPCMemoryHandle.open(bytes, 'cuda', undefined, options)
    const opened = performance.now()
    memory.close()
    const closed = performance.now()
    const [open, close] = bare(1) as [number, number]
    if (i === 0) first = (opened - started) * 1000
    if (i < 20) continue
    timed.open.push((opened - started) * 1000)
    timed.close.push((closed - opened) * 1000)
    timed.bareOpen.push(open / 1000)
    timed.bareClose.push(close / 1000)
  }
  const cached: number[] = []
  const cachedClose: number[] = []
  using held = IPCMemoryHandle.open(bytes, 'cuda', undefined, options)
  for (let i = 0; i < 5 * count; i++) {
    const started = performance.now()
    const memory = IPCMemoryHandle.open(bytes, 'cuda', undefined, options)
    const opened = performance.now()
    memory.close()
    cached.push((opened - started) * 1000)
    cachedClose.push((performance.now() - opened) * 1000)
  }
  void held
  const reopened = number === undefined ? bare(count).slice(0, count) : []
  return {
    first, open: median(timed.open), close: median(timed.close), bareOpen: median(timed.bareOpen), bareClose: median(timed.bareClose),
    cachedOpen: median(cached), cachedClose: median(cachedClose), bareReopen: reopened.length === 0 ? 0 : median(reopened) / 1000,
  }
}

async function session(path: string): Promise<Sessions> {
  const connected = await connect(path)
  const timed: Record<'open' | 'close' | 'roundTrip' | 'cached' | 'openAll', number[]> = { open: [], close: [], roundTrip: [], cached: [], openAll: [] }
  for (let i = 0; i < 500; i++) {
    const started = performance.now()
    const memory = await connected.open('one')
    const opened = performance.now()
    memory.close()
    const closed = performance.now()
    if (i < 50) continue
    timed.open.push((opened - started) * 1000)
    timed.close.push((closed - opened) * 1000)
    timed.roundTrip.push((closed - started) * 1000)
  }
  const held = await connected.open('one')
  for (let i = 0; i < 2000; i++) {
    const started = performance.now()
    const memory = await connected.open('one')
    timed.cached.push((performance.now() - started) * 1000)
    memory.close()
  }
  held.close()
  for (let i = 0; i < 21; i++) {
    const started = performance.now()
    const all = await connected.openAll({ prefix: 'tensor.' })
    timed.openAll.push((performance.now() - started) * 1000)
    for (const memory of all.values()) memory.close()
    if (all.size !== 1000) throw new Error(`${all.size} tensors`)
  }
  await connected.close()
  return { open: median(timed.open), close: median(timed.close), roundTrip: median(timed.roundTrip), cached: median(timed.cached), openAll: median(timed.openAll) }
}

await say(channel, what === 'opens' ? await opens(Number(argument)) : await session(argument))
