// What monitoring hears, in both processes' words: the documented fields, and no bytes.
import diagnostics from 'node:diagnostics_channel'
import { join } from 'node:path'
import test from 'ava'
import { IPCMemoryHandle, MemoryUSMDevice, connect, listen } from '../../../host/index.ts'
import { openFolder, until } from './support.ts'

const NBYTES = 65536
const NAMES = ['export', 'open', 'close', 'lease', 'revoke'] as const
type Message = Record<string, unknown> & { channel: (typeof NAMES)[number] }

/** Collects the messages of all channels while `action` runs. */
async function heard(action: (messages: Message[]) => Promise<void>): Promise<Message[]> {
  const messages: Message[] = []
  const listeners = NAMES.map((name) => [`usm-ipc:${name}`, (message: unknown) => void messages.push({ channel: name, ...(message as object) })] as const)
  for (const [name, listener] of listeners) diagnostics.subscribe(name, listener)
  try {
    await action(messages)
  } finally {
    for (const [name, listener] of listeners) diagnostics.unsubscribe(name, listener)
  }
  return messages
}

test.serial('each of the five channels says what happened to what, and for whom', async (t) => {
  const path = join(openFolder(t), 'socket')
  let [allocationId, id, envelope] = ['', 0, '']
  const messages = await heard(async (so_far) => {
    using memory = new MemoryUSMDevice(NBYTES, { device: 'host' })
    await using exporter = await listen({ path })
    exporter.publish('weights', memory)
    exporter.publish('part', memory, { offset: 4096, nbytes: 100 })
    allocationId = exporter.publications()[0]!.allocationId
    using handle = new IPCMemoryHandle(memory)
    envelope = Buffer.from(handle.toBytes()).toString('hex')
    await using session = await connect(path)
    const opened = await session.open('part')
    id = opened.lease!.id
    const unpublished = exporter.unpublish('part', { revoke: true, graceMs: 5000 })
    t.true(await until(() => so_far.filter(({ channel }) => channel === 'revoke').length === 2))
    opened.close()
    await unpublished
  })
  const of = (channel: Message['channel']): Message[] => messages.filter((m) => m.channel === channel)
  const peer = { pid: process.pid, uid: process.geteuid!(), gid: process.getegid!() }
  const { since, ...lease } = of('lease').find((m) => 'peer' in m)!
  t.true(Math.abs(Number(since) - Date.now()) < 60_000)
  // The handle's own, with every handle that is made, and the names'.
  t.deepEqual(of('export').filter((m) => !('name' in m)), Array(2).fill({ channel: 'export', device: 'host:0', nbytes: NBYTES }))
  t.deepEqual(of('export').filter((m) => 'name' in m), [
    { channel: 'export', name: 'weights', nbytes: NBYTES, offset: 0, allocationId, path },
    { channel: 'export', name: 'part', nbytes: 100, offset: 4096, allocationId, path },
  ])
  t.deepEqual(lease, { channel: 'lease', event: 'taken', id, names: [], allocationId, nbytes: NBYTES, peer, path } as never)
  t.deepEqual(of('lease').filter((m) => !('peer' in m)), [
    { channel: 'lease', event: 'taken', id, allocationId, path }, { channel: 'lease', event: 'ended', id, allocationId, path },
  ])
  t.like(of('lease').find((m) => 'peer' in m && m['event'] === 'ended'), { event: 'ended', id, names: ['part'], allocationId, nbytes: NBYTES, peer, path })
  const [open] = of('open')
  t.deepEqual(open, { channel: 'open', device: 'host:0', nbytes: 100, path: 'self', lease: id })
  t.is(of('open').length, 1)
  t.deepEqual(of('close').map(({ kind, nbytes, device }) => ({ kind, nbytes, device })), [
    { kind: 'mapping', nbytes: 100, device: 'host:0' }, { kind: 'allocation', nbytes: NBYTES, device: 'host:0' },
  ])
  // The exporter's and the importer's.
  t.deepEqual(of('revoke').filter(({ name }) => name === 'part'), [
    { channel: 'revoke', name: 'part', allocationId, leases: 1, graceMs: 5000, path },
    { channel: 'revoke', name: 'part', id, allocationId, graceMs: 5000, path },
  ])

  // No bytes at all, and none of the handle's in another form either.
  const walk = (value: unknown): void => {
    t.false(ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) walk(item)
  }
  walk(messages)
  const text = JSON.stringify(messages)
  const vendorHandle = envelope.slice(-80, -8) // the end of the handle's section, and the checksum
  for (let at = 0; at + 24 <= vendorHandle.length; at += 8) {
    const part = vendorHandle.slice(at, at + 24)
    if (!/^0+$/.test(part)) t.false(text.includes(part))
  }
})

test.serial('a subscriber that throws does not break sharing, and without one nothing is made', async (t) => {
  const path = join(openFolder(t), 'socket')
  const bad = (): never => {
    throw new Error('a monitor that fails')
  }
  const thrown: unknown[] = []
  const caught = (error: unknown): void => void thrown.push(error)
  const listeners = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', caught)
  for (const name of NAMES) diagnostics.subscribe(`usm-ipc:${name}`, bad)
  try {
    using memory = new MemoryUSMDevice(NBYTES, { device: 'host' })
    await using exporter = await listen({ path })
    exporter.publish('weights', memory)
    await using session = await connect(path)
    using opened = await session.open('weights')
    t.is(opened.lease!.state, 'live')
    t.is(exporter.leases().length, 1)
    opened.close()
    t.true(await until(() => exporter.leases().length === 0))
  } finally {
    for (const name of NAMES) diagnostics.unsubscribe(`usm-ipc:${name}`, bad)
    await new Promise((resolve) => setImmediate(resolve))
    process.off('uncaughtException', caught)
    for (const listener of listeners) process.on('uncaughtException', listener)
  }
  t.true(thrown.length >= 6 && thrown.every((error) => (error as Error).message === 'a monitor that fails'))
})
