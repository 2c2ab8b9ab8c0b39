/** What crosses on the way: notices and opens, closes and accepts, releases and requests. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { FdChannel, MemoryUSMDevice, connect, ledger, listen, type Exporter, type Lease, type Session } from '../../host/index.ts'
import { openDescriptors } from '../support/counts.ts'

const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-races-'))
test.after.always(() => rmSync(folder, { recursive: true }))
let sockets = 0

async function shared(names: readonly string[], run: (exporter: Exporter, session: Session, memory: MemoryUSMDevice) => Promise<void>): Promise<void> {
  const path = join(folder, `${sockets++}.sock`)
  using memory = new MemoryUSMDevice(65_536, { device: 'host' })
  await using exporter = await listen({ path })
  names.forEach((name, i) => exporter.publish(name, memory, { offset: 16 * i, nbytes: 16 }))
  await using session = await connect(path)
  await run(exporter, session, memory)
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20))

test.serial('a name that is revoked as soon as the lease is taken is not opened with the others, nor later', async (t) => {
  await shared(['a', 'b', 'c'], async (exporter, session) => {
    const revoked = once(exporter, 'lease').then(() => exporter.unpublish('b', { revoke: true, graceMs: 0 }))
    const all = await session.openAll()
    await revoked
    await turn()
    t.deepEqual([...all.keys()].filter((name) => name !== 'b'), ['a', 'c'])
    t.not(all.get('b')?.lease?.state, 'live')
    await t.throwsAsync(session.open('b'), { code: 'ERR_USM_IPC_NO_SUCH_NAME' })
  })
})

test.serial('a name that is published anew is not taken for the old one, whose revocation is on its way', async (t) => {
  await shared(['a', 'b'], async (exporter, session, memory) => {
    using a = await session.open('a') // so there is a lease to tell of b's end
    const told: (string | undefined)[] = []
    session.on('revoked', (lease) => told.push(lease.name))
    const opened = session.open('b')
    void exporter.unpublish('b', { revoke: true, graceMs: 50 })
    exporter.publish('b', memory, { offset: 1024, nbytes: 32 })
    using fresh = await opened
    await turn()
    t.deepEqual([a.lease!.state, fresh.lease!.state, fresh.nbytes], ['live', 'live', 32])
    t.deepEqual(told, [])
  })
})

test.serial('notices that go together keep their times, and a thousand of them are few frames', async (t) => {
  const names = Array.from({ length: 1000 }, (_, i) => `n${String(i).padStart(4, '0')}`)
  await shared(names, async (exporter, session) => {
    const all = await session.openAll()
    t.is(all.size, 1000)
    const times = new Map<string, number>()
    session.on('revoked', (lease, graceMs) => times.set(lease.name!, graceMs))
    for (const [i, name] of names.entries()) void exporter.unpublish(name, { revoke: true, graceMs: i % 2 === 0 ? 5000 : 6000 })
    while (times.size < 1000) await turn()
    t.deepEqual([times.get('n0000'), times.get('n0001'), times.get('n0998'), times.get('n0999')], [5000, 6000, 5000, 6000])
    for (const memory of all.values()) memory.close()
  })
})

test.serial('a later revocation of another part does not cut the time of an earlier one', async (t) => {
  await shared(['a', 'b'], async (exporter, session) => {
    using a = await session.open('a')
    const first = exporter.unpublish('a', { revoke: true, graceMs: 400 })
    await exporter.unpublish('b', { revoke: true, graceMs: 0 })
    t.is(exporter.leases().length, 1)
    t.is(a.isClosed, false)
    await first
    await turn()
    t.is(exporter.leases().length, 0)
  })
})

test.serial('a revocation of one part does not end the lease of who was promised another', async (t) => {
  await shared(['a', 'b'], async (exporter, session) => {
    using a = await session.open('a')
    const b = await session.open('b')
    const revoked = exporter.unpublish('a', { revoke: true, graceMs: 50 })
    let isFree = false
    const waiting = exporter.unpublish('b').then(() => (isFree = true))
    await revoked
    for (let i = 0; i < 10; i++) await turn()
    t.deepEqual([exporter.leases().length, isFree, a.lease!.state, b.lease!.state], [1, false, 'revoked', 'live'])
    a.close()
    b.close()
    await waiting
    t.deepEqual(exporter.leases(), [])
  })
})

test.serial('who only withdrew a name asks for it to be closed when the exporter closes', async (t) => {
  await shared(['a'], async (exporter, session) => {
    const a = await session.open('a')
    const waiting = exporter.unpublish('a')
    const told = once(session, 'revoked') as Promise<[Lease, number]>
    const closed = exporter.close({ graceMs: 5000 })
    t.is((await told)[0], a.lease!)
    a.close()
    await Promise.all([waiting, closed])
  })
})

test.serial('as many opens as there can be, and releases between them, are all served', async (t) => {
  await shared(Array.from({ length: 8 }, (_, i) => `n${i}`), async (exporter, session, memory) => {
    const others = Array.from({ length: 200 }, () => new MemoryUSMDevice(4096, { device: 'host' }))
    others.forEach((other, i) => exporter.publish(`x${i}`, other))
    for (let round = 0; round < 20; round++) {
      const first = await Promise.all(Array.from({ length: 15 }, (_, i) => session.open(`x${i}`)))
      first[0]!.close()
      const many = await Promise.all(Array.from({ length: 150 }, (_, i) => session.open(`x${i + 15}`)))
      for (const one of [...first, ...many]) one.close()
    }
    t.false(session.isClosed)
    await session.list()
    t.deepEqual(exporter.leases(), [])
    for (const other of others) other.close()
    t.false(memory.isClosed)
  })
})

test.serial('connections that come while the exporter closes are ended, and leave nothing', async (t) => {
  for (let turns = 0; turns < 6; turns++) {
    const path = join(folder, `closing-${turns}.sock`)
    const before = openDescriptors()
    const exporter = await listen({ path })
    const channels = await Promise.all(Array.from({ length: 8 }, () => FdChannel.connect(path)))
    for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
    await exporter.close()
    await Promise.all(channels.map((channel) => channel.hangup))
    for (const channel of channels) channel.close()
    for (let i = 0; i < 100 && openDescriptors() !== before; i++) await turn()
    t.is(openDescriptors(), before)
  }
})

test.serial('options that are none are refused with a code, before anything is asked', async (t) => {
  await shared(['a'], async (_, session) => {
    for (const options of [{ signal: {} }, { timeoutMs: 'x' }, { timeoutMs: Number.NaN }] as never[]) {
      for (const asked of [session.open('a', options), session.list(options), session.openAll(options)]) {
        t.regex(((await t.throwsAsync(asked)) as { code?: string }).code ?? '', /^ERR_USM_IPC_INVALID_/)
      }
    }
    t.is(ledger().mappings, 0)
  })
})
