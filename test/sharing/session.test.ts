/** One exporter and its sessions, in one process. */
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { IPCMemoryHandle, MemoryUSMDevice, connect, ledger, listen, type Lease, type PeerError } from '../../host/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-session-'))
test.after.always(() => rmSync(folder, { recursive: true }))
let sockets = 0
const socket = (): string => join(folder, `${sockets++}.sock`)

test.serial('what is published is listed, opened under a lease, and given back', async (t) => {
  const path = socket()
  const before = ledger().live
  using memory = new MemoryUSMDevice(8192, { device: 'host' })
  memory.copyFrom(new TextEncoder().encode('weights'))
  {
    await using exporter = await listen({ path })
    t.is(statSync(path).mode & 0o777, 0o600)
    exporter.publish('a', memory, { array: { code: 2, bits: 32, lanes: 1, shape: [4, 8] }, metadata: { step: 1000 } })
    exporter.publish('b', memory, { offset: 4096, nbytes: 100 })
    await using session = await connect(path)
    const list = await session.list()
    t.deepEqual(list.map(({ name, nbytes, offset, leases }) => ({ name, nbytes, offset, leases })), [
      { name: 'a', nbytes: 8192, offset: 0, leases: 0 }, { name: 'b', nbytes: 100, offset: 4096, leases: 0 },
    ])
    t.deepEqual(list[0]!.array, { code: 2, bits: 32, lanes: 1, shape: [4, 8], strides: [8, 1] })
    t.deepEqual(list[0]!.metadata, { step: 1000 })
    const a = await session.open('a')
    const text = new Uint8Array(7)
    a.copyTo(text)
    t.is(new TextDecoder().decode(text), 'weights')
    const b = await session.open('b')
    const again = await session.open('a')
    t.is(b.nbytes, 100)
    t.is(b.lease!.id, a.lease!.id)
    t.is(exporter.leases().length, 1)
    t.is(ledger().mappings, 3)
    a.close()
    again.close()
    t.is(b.lease!.state, 'live')
    t.is(session.leases().length, 1)
    b.close()
    t.is(b.lease!.state, 'released')
    await session.list()
    t.deepEqual(exporter.leases(), [])
    const all = await session.openAll()
    t.deepEqual([...all.keys()], ['a', 'b'])
    t.is(exporter.leases().length, 1)
  }
  t.false(existsSync(path))
  memory.close()
  t.is(ledger().live, before)
})

test.serial('a view that is left of what was closed keeps the lease, and what is opened beside it works', async (t) => {
  const path = socket()
  using memory = new MemoryUSMDevice(4096, { device: 'host' })
  memory.fill(7)
  await using exporter = await listen({ path })
  exporter.publish('a', memory)
  await using session = await connect(path)
  const first = await session.open('a')
  const view = first.view()
  first.close()
  t.is(exporter.leases().length, 1)
  const again = await session.open('a')
  const byte = new Uint8Array(1)
  again.copyTo(byte)
  t.deepEqual([byte[0], view[4095]], [7, 7])
  again.close()
  t.is(exporter.leases().length, 1, 'the view is still there')
})

test.serial('memory that was opened by a kept handle hears of a revocation', async (t) => {
  const path = socket()
  using memory = new MemoryUSMDevice(4096, { device: 'host' })
  using handle = new IPCMemoryHandle(memory)
  await using exporter = await listen({ path })
  exporter.publish('a', memory)
  await using session = await connect(path)
  const kept = await session.open(handle.toBytes())
  t.is(kept.lease!.name, undefined)
  const told = once(session, 'revoked') as Promise<[Lease, number]>
  const gone = exporter.unpublish('a', { revoke: true, graceMs: 5000 })
  const [lease, graceMs] = await told
  t.is(lease, kept.lease!)
  t.is(graceMs, 5000)
  t.is(kept.lease!.state, 'revoked')
  t.is((kept.lease!.signal.reason as PeerError).code, 'ERR_USM_IPC_REVOKED')
  kept.close()
  await gone
  await t.throwsAsync(session.open(handle.toBytes()), { code: 'ERR_USM_IPC_NO_SUCH_NAME' })
})

test.serial('what is asked of a session that is closed says so, with keys and without', async (t) => {
  const path = socket()
  using memory = new MemoryUSMDevice(4096, { device: 'host' })
  const key = { id: 1, key: new Uint8Array(32).fill(1) }
  using handle = new IPCMemoryHandle(memory, { key })
  await using exporter = await listen({ path, key })
  exporter.publish('a', memory)
  for (const options of [{ keys: [key] }, {}]) {
    const session = await connect(path, options)
    await session.close()
    await session.close()
    for (const asked of [session.open('a'), session.open(handle.toBytes()), session.list(), session.openAll()]) {
      await t.throwsAsync(asked, { code: 'ERR_USM_IPC_CLOSED' })
    }
    t.true(session.signal.aborted)
  }
})

test.serial('an importer that gives up keeps nothing, and its process is not held by it', async (t) => {
  const path = socket()
  using memory = new MemoryUSMDevice(4096, { device: 'host' })
  await using exporter = await listen({ path })
  exporter.publish('a', memory)
  await using session = await connect(path)
  const aborter = new AbortController()
  const asked = session.open('a', { signal: aborter.signal })
  aborter.abort(new Error('enough'))
  await t.throwsAsync(asked, { message: 'enough' })
  // No time at all: it depends on who is first.
  await session.open('a', { timeoutMs: 0 }).then((memory) => memory.close(), (error: PeerError) => t.is(error.code, 'ERR_USM_IPC_TIMEOUT'))
  await session.list()
  await session.list()
  t.deepEqual(exporter.leases(), [])
  t.is(ledger().mappings, 0)
})
