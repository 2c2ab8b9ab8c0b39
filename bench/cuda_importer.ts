/** The importer of bench/cuda.ts: medians in microseconds. */
import { addon } from '../host/addon.ts'
import { claimOf } from '../host/descriptor.ts'
import { FdChannel } from '../host/index.ts'
import { rawDriver } from '../test/cuda/raw_driver.ts'
import { decode, parse, say } from '../test/support/child.ts'
import { built } from './support/built.ts'
import { median } from './support/paired.ts'

export interface Opens {
  /** Of this process, in a context that exists. */
  first: number
  open: number
  close: number
  bareOpen: number
  bareClose: number
  /** Of what is open already; of a pool's, the driver's own would end ours. */
  cachedOpen: number
  cachedClose: number
  bareReopen?: number
}

export interface Sessions {
  open: number
  close: number
  roundTrip: number
  /** Until the exporter has answered something after the release. */
  released: number
  cached: number
  /** 1,000 names of one arena, and what is theirs each in it where the arena is opened as one. */
  openAll: number
  flat: number
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
  raw.freeMemory() // the driver's start and its context are not the first opening's
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
  const reopened = handle.length === 64 && number !== undefined ? {} : { bareReopen: median(bare(count).slice(0, count)) / 1000 }
  return {
    first, open: median(timed.open), close: median(timed.close), bareOpen: median(timed.bareOpen), bareClose: median(timed.bareClose),
    cachedOpen: median(cached), cachedClose: median(cachedClose), ...reopened,
  }
}

async function session(path: string): Promise<Sessions> {
  const connected = await connect(path)
  const timed: Record<keyof Sessions, number[]> = { open: [], close: [], roundTrip: [], released: [], cached: [], openAll: [], flat: [] }
  const since = (started: number): number => (performance.now() - started) * 1000
  for (let i = 0; i < 500; i++) {
    const started = performance.now()
    const memory = await connected.open('one')
    const opened = performance.now()
    memory.close()
    const closed = performance.now()
    timed.open.push((opened - started) * 1000)
    timed.close.push((closed - opened) * 1000)
    timed.roundTrip.push((closed - started) * 1000)
  }
  for (let i = 0; i < 500; i++) {
    const started = performance.now()
    const memory = await connected.open('one')
    memory.close()
    await connected.list({ prefix: 'none' }) // answered in turn, so behind the release
    timed.released.push(since(started))
  }
  const held = await connected.open('one')
  for (let i = 0; i < 2000; i++) {
    const started = performance.now()
    const memory = await connected.open('one')
    timed.cached.push(since(started))
    memory.close()
  }
  held.close()
  for (let i = 0; i < 25; i++) {
    const started = performance.now()
    const all = await connected.openAll({ prefix: 'tensor.' })
    timed.openAll.push(since(started))
    for (const memory of all.values()) memory.close()
    if (all.size !== 1000) throw new Error(`${all.size} tensors`)
    await connected.list({ prefix: 'none' })
  }
  for (let i = 0; i < 100; i++) {
    const started = performance.now()
    const arena = await connected.open('arena')
    const base = arena.pointer
    const parts = Array.from({ length: 1000 }, (_, at) => ({ pointer: base + BigInt(at * 4096), nbytes: 4096 }))
    timed.flat.push(since(started))
    if (parts.at(-1)!.pointer - base + 4096n !== BigInt(arena.nbytes)) throw new Error('another arena')
    arena.close()
  }
  await connected.close()
  // What came first warmed things up.
  return Object.fromEntries(Object.entries(timed).map(([name, samples]) => [name, median(samples.slice(samples.length / 10))])) as unknown as Sessions
}

await say(channel, what === 'opens' ? await opens(Number(argument)) : await session(argument))
