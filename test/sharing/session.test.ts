/** One exporter and its sessions, in one process. */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { MemoryUSMDevice, connect, ledger, listen } from '../../host/index.ts'

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
