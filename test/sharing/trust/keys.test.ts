// Envelopes with a tag, over a session: which are taken, which are refused by which verdict, and where keys never appear.
import { randomBytes } from 'node:crypto'
import diagnostics from 'node:diagnostics_channel'
import { join } from 'node:path'
import { inspect } from 'node:util'
import test, { type ExecutionContext } from 'ava'
import {
  MemoryUSMDevice, connect, getMemHandle, ledger, listen,
  type ConnectOptions, type EnvelopeKey, type Exporter, type Session,
} from '../../../host/index.ts'
import { authenticateEnvelope } from '../../../host/handle.ts'
import { core } from '../../../host/core/index.ts'
import { forged } from '../../support/forge.ts'
import { openDescriptors } from '../../support/counts.ts'
import { BACKENDS, Party, openFolder, until } from './support.ts'
import type { KeyText } from './protocol.ts'

const NBYTES = 65536
const key = (id: number, length = 32): EnvelopeKey => ({ id, key: new Uint8Array(randomBytes(length)) })
const textOf = ({ id, key: bytes }: EnvelopeKey): KeyText => ({ id, hex: Buffer.from(bytes).toString('hex') })

for (const backend of BACKENDS) {
  test.serial(`with keys on both sides, each forged envelope has its own verdict: ${backend.title}`, async (t) => {
    const path = join(openFolder(t), 'socket')
    const [first, second] = [key(1), key(2, 64)]
    await using exporter = new Party({ backend })
    await using importer = new Party({ backend })
    await exporter.do({ do: 'listen', path, key: textOf(first) })
    await exporter.do({ do: 'publish', name: 'weights', nbytes: NBYTES, fill: 7 })
    const outcome = async (keys: EnvelopeKey[] | undefined, requireAuthentication = false): Promise<string> => {
      await importer.do({ do: 'connect', path, ...(keys && { keys: keys.map(textOf) }), requireAuthentication })
      const { error, values } = await importer.try({ do: 'open', name: 'weights' })
      const answer = error?.code ?? values!.join()
      if (error !== undefined) t.is(error.name, 'HandleError', error.message)
      await importer.do({ do: 'close' })
      return answer
    }
    t.is(await outcome([first]), '7')
    t.is(await outcome([second, first], true), '7')
    t.is(await outcome(undefined), '7', 'whose importer has no keys takes it, and says that the tag was not checked')
    t.is(await outcome([second]), 'ERR_USM_IPC_UNKNOWN_KEY')
    t.is(await outcome(undefined, true), 'ERR_USM_IPC_UNKNOWN_KEY')
    t.is(await outcome([key(1)]), 'ERR_USM_IPC_BAD_TAG', 'another key of that id')
    // Rotation: who has the new key, or both.
    await exporter.do({ do: 'rotate', key: textOf(second) })
    t.is(await outcome([first]), 'ERR_USM_IPC_UNKNOWN_KEY')
    t.is(await outcome([second]), '7')
    t.is(await outcome([first, second]), '7')
    t.is(await outcome([{ id: 1, key: second.key }]), 'ERR_USM_IPC_UNKNOWN_KEY')
    t.is(await outcome([{ id: 2, key: first.key }]), 'ERR_USM_IPC_BAD_TAG')
    t.true(await until(async () => (await exporter.do({ do: 'leases' })).leases!.length === 0))
    t.like(await importer.end(), { live: 0, claims: 0, resources: 0 })
    t.like(await exporter.end(), { live: 0, claims: 0, resources: 0 })
  })

  test.serial(`an exporter without a key is refused by who has one: ${backend.title}`, async (t) => {
    const path = join(openFolder(t), 'socket')
    await using exporter = new Party({ backend })
    await using importer = new Party({ backend })
    await exporter.do({ do: 'listen', path })
    await exporter.do({ do: 'publish', name: 'weights', nbytes: NBYTES, fill: 7 })
    for (const trust of [{ keys: [textOf(key(1))] }, { requireAuthentication: true }]) {
      await importer.do({ do: 'connect', path, ...trust })
      t.like((await importer.try({ do: 'open', name: 'weights' })).error, { name: 'HandleError', code: 'ERR_USM_IPC_UNAUTHENTICATED' })
    }
    t.like(await importer.end(), { live: 0, claims: 0, resources: 0 })
  })
}

async function both(t: ExecutionContext, exporting: { key?: EnvelopeKey }, importing: ConnectOptions): Promise<{ exporter: Exporter; session: Session; memory: MemoryUSMDevice }> {
  const path = join(openFolder(t), 'socket')
  const memory = new MemoryUSMDevice(NBYTES, { device: 'host' })
  const exporter = await listen({ path, ...exporting })
  exporter.publish('weights', memory)
  return { exporter, session: await connect(path, importing), memory }
}

test.serial('an envelope that was kept is checked by the session\'s keys before the exporter is asked', async (t) => {
  const [first, second] = [key(1), key(2)]
  const { exporter, session, memory } = await both(t, { key: first }, { keys: [first] })
  const plain = getMemHandle(memory)
  const tagged = authenticateEnvelope(plain, first)
  const open = (bytes: Uint8Array): Promise<unknown> => session.open(bytes)
  await t.throwsAsync(open(plain), { code: 'ERR_USM_IPC_UNAUTHENTICATED' })
  await t.throwsAsync(open(authenticateEnvelope(plain, second)), { code: 'ERR_USM_IPC_UNKNOWN_KEY' })
  await t.throwsAsync(open(authenticateEnvelope(plain, key(1))), { code: 'ERR_USM_IPC_BAD_TAG' })
  const flipped = tagged.slice()
  flipped[flipped.length - 1]! ^= 1
  await t.throwsAsync(open(flipped), { code: 'ERR_USM_IPC_BAD_TAG' })
  // A change with a fresh checksum, but without the key.
  const forgery = forged(plain, (view) => view.setUint8(40, view.getUint8(40) ^ 1))
  await t.throwsAsync(open(forgery))
  t.deepEqual(exporter.leases(), [])
  const opened = await session.open(tagged)
  t.is(opened.nbytes, NBYTES)
  opened.close()
  await session.close()
  await exporter.close()
  memory.close()
})

function holds(haystack: Uint8Array, needle: Uint8Array): boolean {
  return Buffer.from(haystack.buffer, haystack.byteOffset, haystack.length).includes(Buffer.from(needle))
}

test.serial('keys are in no inspection, message, error or event, and not left in the core\'s memory', async (t) => {
  const before = { live: ledger().live, descriptors: openDescriptors() }
  const [first, second] = [key(1, 64), key(2, 64)]
  const said: unknown[] = []
  const told = (message: unknown): void => void said.push(message)
  const channels = ['export', 'open', 'close', 'lease', 'revoke'].map((name) => `usm-ipc:${name}`)
  for (const name of channels) diagnostics.subscribe(name, told)
  const path = join(openFolder(t), 'socket')
  try {
    using memory = new MemoryUSMDevice(NBYTES, { device: 'host' })
    await using exporter = await listen({ path, key: first })
    exporter.publish('weights', memory)
    for (const keys of [[first], [second], [{ id: 1, key: second.key }]]) {
      await using session = await connect(path, { keys })
      const opened = await session.open('weights').catch((error: unknown) => error)
      said.push(session, opened, opened instanceof MemoryUSMDevice ? opened.describe() : (opened as Error).stack)
      said.push(await session.list(), session.leases(), exporter, exporter.leases(), exporter.publications())
      // Wiped from the core after each call, be it refused or not.
      for (const { key: bytes } of [first, second]) t.false(holds(core().u8, bytes.subarray(0, 16)))
    }
    exporter.rotateKey(second)
    said.push(exporter)
    t.throws(() => exporter.rotateKey({ id: 0, key: second.key }), { code: 'ERR_USM_IPC_INVALID_KEY' })
    await exporter.unpublish('weights', { revoke: true, graceMs: 0 })
  } finally {
    for (const name of channels) diagnostics.unsubscribe(name, told)
  }
  const text = inspect(said, { depth: 20, showHidden: true, maxArrayLength: null, maxStringLength: null })
  t.true(said.length > 20)
  for (const { key: bytes } of [first, second]) {
    const part = bytes.subarray(8, 16)
    for (const form of [Buffer.from(part).toString('hex'), Buffer.from(part).toString('base64').slice(0, 10), [...part].join(', ')]) t.false(text.includes(form))
  }
  // What was given is the caller's and stays; the copies are gone with whoever had them.
  t.true(first.key.some((byte) => byte !== 0))
  t.deepEqual({ live: ledger().live, descriptors: openDescriptors() }, before)
})

test.serial('a caller\'s key may be wiped as soon as it was given', async (t) => {
  const mine = key(3)
  const copy = { id: 3, key: mine.key.slice() }
  const path = join(openFolder(t), 'socket')
  using memory = new MemoryUSMDevice(NBYTES, { device: 'host' })
  await using exporter = await listen({ path, key: mine })
  mine.key.fill(0)
  exporter.publish('weights', memory)
  const pending = connect(path, { keys: [copy] })
  copy.key.fill(0)
  await using session = await pending
  using opened = await session.open('weights')
  t.is(opened.nbytes, NBYTES)
})
