import test, { type ExecutionContext } from 'ava'
import { addon } from '../../host/addon.ts'
import { Descriptor, FdChannel, IPCMemoryHandle, MemoryUSMDevice, MemoryUSMHost, ledger } from '../../host/index.ts'
import { startChild } from '../support/child.ts'
import { counts, openDescriptors } from '../support/counts.ts'
import { faultsAreThere } from '../support/faults.ts'
import { party, type Party } from '../processes/party.ts'
import { decode } from '../support/child.ts'
import { asForeign } from '../support/forge.ts'
import { collectUntil } from '../support/gc.ts'

/**
 * What can fail, as users call it. Each closes what it made, whatever happened before. Views go with garbage collection,
 * channels are closed by their thread; everything else must be back at once.
 */
const scenarios: Record<string, () => void | Promise<void>> = {
  'memory of every kind'() {
    using device = new MemoryUSMDevice(4096, { device: 'host' })
    using readOnly = new MemoryUSMDevice(4096, { device: 'host', sharing: 'readOnly' })
    using host = new MemoryUSMHost(4096, { device: 'host' })
    device.fill(1)
    readOnly.fill(1)
    host.fill(1)
  },
  'an export and its descriptor'() {
    using memory = new MemoryUSMDevice(4096, { device: 'host' })
    using handle = new IPCMemoryHandle(memory)
    using copy = Descriptor.duplicate(handle.descriptors[0]!.number)
    memory.fill(copy.number & 1)
  },
  'opens of every path'() {
    using memory = new MemoryUSMDevice(4096, { device: 'host' })
    using handle = new IPCMemoryHandle(memory)
    using self = IPCMemoryHandle.open(handle.toBytes(), 'host')
    const bytes = asForeign(handle.toBytes())
    using mapped = IPCMemoryHandle.open(bytes, 'host', undefined, { descriptor: handle.descriptors[0]!.number })
    using cached = IPCMemoryHandle.open(bytes, 'host')
    using fetched = IPCMemoryHandle.open(elsewhere, 'host', undefined, { allowPidfd: true })
    for (const opened of [self, mapped, cached, fetched]) opened.fill(1)
  },
  'views'() {
    using memory = new MemoryUSMDevice(4096, { device: 'host' })
    memory.view().fill(1)
    using handle = new IPCMemoryHandle(memory)
    using mapped = IPCMemoryHandle.open(asForeign(handle.toBytes()), 'host', undefined, { descriptor: handle.descriptors[0]! })
    mapped.view(10, 10).fill(1)
  },
  async 'an open over a channel'() {
    const [here, there] = FdChannel.pair()
    try {
      using memory = new MemoryUSMDevice(4096, { device: 'host' })
      using handle = new IPCMemoryHandle(memory)
      const { descriptors } = handle
      const [frame] = await Promise.all([there.receive(deadline), here.send(asForeign(handle.toBytes()), { descriptors, ...deadline })])
      IPCMemoryHandle.open(frame.bytes, 'host', undefined, { channel: there }).close()
    } finally {
      here.close()
      there.close()
    }
  },
  async 'a send over a channel that is full'() {
    const [here, there] = FdChannel.pair()
    try {
      using descriptor = Descriptor.duplicate(0)
      const sent = await fill(here)
      const waiting = here.send(new Uint8Array(1), { descriptors: [descriptor], ...deadline })
      waiting.catch(() => {}) // where a receive fails first, nobody else hears of it
      for (let i = 0; i < sent; i++) await there.receive(deadline)
      await waiting
      const frame = await there.receive(deadline)
      frame.descriptors[0]!.close()
    } finally {
      here.close()
      there.close()
    }
  },
}

const deadline = { timeoutMs: 10_000 }

/** Sends until a send has to wait; says how many did not. */
async function fill(channel: FdChannel): Promise<number> {
  for (let sent = 0; ; sent++) {
    try {
      await channel.send(new Uint8Array(65_536), { timeoutMs: 0 })
    } catch (error) {
      if ((error as { code?: string }).code === 'ERR_USM_IPC_TIMEOUT') return sent
      throw error
    }
  }
}

/** Reached by other tests than these: test/native and test/sharing. */
const ELSEWHERE = ['start', 'peerpidfd', 'mode', 'place', 'probe', 'replace', 'replaced'].map((point) => `channel.${point}`)
  .concat('event.register', 'event.finalizer') // of backends that have events

/** What is held, and what of the mappings that were made has not been unmapped, or more than once. */
const everything = (): object => ({ ...counts(), descriptors: openDescriptors(), mapped: unpaired() })

function unpaired(): number {
  const { mmap = 0, munmap = 0 } = addon().callCounts?.() ?? {}
  return mmap - munmap
}

async function outcome(action: () => void | Promise<void>): Promise<{ code?: string; call?: string } | undefined> {
  try {
    await action()
    return undefined
  } catch (error) {
    return error as { code?: string; call?: string }
  }
}

async function soon(done: () => boolean): Promise<void> {
  for (let i = 0; i < 500 && !done(); i++) await new Promise((resolve) => setTimeout(resolve, 2))
}

const reached = new Set<string>()

// What another process exported: descriptors are fetched from others alone.
let elsewhere: Uint8Array
let exporter: Party

test.after.always(async () => {
  await exporter.kill()
  exporter.data.close()
})

test.before(async (t) => {
  exporter = await party()
  await exporter.do('export')
  elsewhere = decode((await exporter.do('bytes')).bytes!)
  // What is made once: the channel thread, the wasm, the collector.
  for (const scenario of Object.values(scenarios)) await scenario()
  await collectUntil(() => ledger({ process: true }).claims === 0)
  t.is(ledger({ process: true }).claims, 0)
})

for (const [name, scenario] of Object.entries(scenarios)) {
  test.serial(`every step of ${name} may fail, each time it is passed, and all is closed once`, async (t) => {
    if (!faultsAreThere(t)) return
    const { setFault, faultPoints } = addon()
    await collectUntil(() => ledger({ process: true }).claims === 0) // the views of the scenario before
    const before = everything()
    for (const point of faultPoints!()) {
      // The n-th passage fails, until the scenario passes the point fewer than n times.
      for (let n = 1; n <= 50; n++) {
        setFault!(point, n)
        const failure = await outcome(scenario)
        setFault!(point, 0)
        const back = (): boolean => JSON.stringify(everything()) === JSON.stringify(before)
        if (name === 'views') await collectUntil(back)
        if (name.includes('channel')) await soon(back)
        t.deepEqual(everything(), before, `after ${point} had failed the ${n}. time`)
        if (failure === undefined) break
        reached.add(point)
        checkFailure(t, failure, point)
        t.true(n < 50, `${point} is passed without end`)
      }
    }
    await t.notThrowsAsync(async () => scenario(), 'and it works again')
  })
}

function checkFailure(t: ExecutionContext, failure: { code?: string; call?: string }, point: string): void {
  t.is(failure.code, 'ERR_USM_IPC_INJECTED', `${point}: ${String((failure as Error).stack)}`)
  t.is(failure.call, point)
}

test.serial('every fault point was reached', (t) => {
  if (!faultsAreThere(t)) return
  const points = addon().faultPoints!().filter((point) => !ELSEWHERE.includes(point))
  t.deepEqual(points.filter((point) => !reached.has(point)), [])
})

test('a full ledger refuses each kind of claim, and what the driver gave for it is closed', async (t) => {
  const expected = ['allocate', 'export', 'open self', 'open mapped', 'view', 'done']
  // A limit of 0 means none: the first is reached by a ledger that other memory has filled.
  for (let limit = 1; limit <= 5; limit++) {
    const child = startChild(new URL('children/ledger_full.ts', import.meta.url), { env: { USM_IPC_LEDGER_LIMIT: String(limit) } })
    const { stdout, stderr, code } = await child.exited
    child.channel.close()
    t.is(code, 0, stderr)
    const report = JSON.parse(stdout) as { step: string; code: string; settled: boolean; before: object; now: object; after: object }
    t.is(report.step, expected[limit]!)
    t.is(report.code, limit === 5 ? 'none' : 'ERR_USM_IPC_LEDGER_FULL')
    if (limit < 4) t.deepEqual(report.now, report.before)
    t.deepEqual(report.after, report.before)
  }
})
