/** Sessions under node:test, which Node, Deno and Bun all run. USM_IPC_SMOKE names another backend than the host's. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { HandleError, MemoryUSMDevice, connect, ledger, listen, type Lease } from '../../host/index.ts'
import { variable } from '../../host/variables.ts'

const device = variable('USM_IPC_SMOKE') ?? 'host'
const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-rt-'))
after(() => rmSync(folder, { recursive: true }))
const key = { id: 7, key: new Uint8Array(32).fill(7) }
const bytesOf = (memory: MemoryUSMDevice): number[] => {
  const bytes = new Uint8Array(memory.nbytes)
  memory.copyTo(bytes)
  return [...bytes]
}

test(`${device}: a lease from open to close, an arena, a revocation, the exporter's end`, async () => {
  const path = join(folder, 'a.sock')
  const before = ledger().live
  const memory = new MemoryUSMDevice(4096, { device })
  memory.copyFrom(Uint8Array.from({ length: 4096 }, (_, i) => i % 251))
  const exporter = await listen({ path, key })
  for (let i = 0; i < 8; i++) exporter.publish(`t${i}`, memory, { offset: 16 * i, nbytes: 16, array: { dtype: 'float32', shape: [4] } })
  const session = (await connect(path, { keys: [key] })).ref()
  const all = await session.openAll()
  assert.equal(all.size, 8)
  assert.equal(exporter.leases().length, 1)
  assert.deepEqual(bytesOf(all.get('t3')!), Array.from({ length: 16 }, (_, i) => (48 + i) % 251))
  assert.equal(all.get('t3')!.describe().array?.dtype, 'float32')
  const told = once(session, 'revoked') as Promise<[Lease, number]>
  const gone = exporter.unpublish('t3', { revoke: true, graceMs: 50 })
  assert.equal((await told)[0].name, 't3')
  assert.equal(all.get('t3')!.lease!.signal.aborted, true)
  await gone
  await assert.rejects(session.open('t3'), { code: 'ERR_USM_IPC_NO_SUCH_NAME' })
  for (const opened of all.values()) opened.close()
  const last = await session.open('t4')
  const orphaned = once(session, 'exporterGone')
  await exporter.close({ graceMs: 0 })
  await orphaned
  assert.equal(last.lease!.state, 'exporter-gone')
  assert.deepEqual(bytesOf(last), Array.from({ length: 16 }, (_, i) => (64 + i) % 251))
  last.close()
  await session.close()
  memory.close()
  assert.equal(existsSync(path), false)
  assert.equal(ledger().live, before)
})

test(`${device}: another key's envelopes are refused, and nothing is left of them`, async () => {
  const path = join(folder, 'b.sock')
  const before = ledger().live
  const memory = new MemoryUSMDevice(4096, { device })
  const exporter = await listen({ path, key })
  exporter.publish('a', memory)
  const session = await connect(path, { keys: [{ id: 7, key: new Uint8Array(32).fill(8) }] })
  await assert.rejects(session.open('a'), (error) => error instanceof HandleError && error.verdict === 'bad-tag')
  await session.list()
  assert.deepEqual(exporter.leases(), [])
  await session.close()
  await exporter.close()
  memory.close()
  assert.equal(ledger().live, before)
})
