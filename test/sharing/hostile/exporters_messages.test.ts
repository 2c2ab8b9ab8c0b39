// Exporters that break the protocol: the session ends with the reason, nothing stays open, and the next session works.
import { encode } from '@msgpack/msgpack'
import test from 'ava'
import { connect, type ConnectOptions } from '../../../host/index.ts'
import { startChannelThread } from '../../support/child.ts'
import { until } from '../trust/support.ts'
import type { Answers, FakeExporter } from './fake_exporter.ts'
import { against, codeOf, failure, withFake } from './sessions.ts'

test.before(startChannelThread)

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)
const WRONG: unknown[] = [null, true, -1, 1.5, NaN, 2 ** 53, 0xffff_ffff_ffff_ffffn, '', 'x', bytes(), bytes(1), [], {}, [1], [''], 'a\u001b[2Jb', 'x'.repeat(3000)]

/** Fields of an answer to an open, and what is right in them. */
const FIELDS: Record<string, (value: unknown) => boolean> = {
  t: () => false, id: () => false, lease: () => false, entry: () => false, envelope: (v) => v instanceof Uint8Array && v.length > 0,
}
const ENTRY: Record<string, (value: unknown) => boolean> = {
  name: (v) => v === 'x', export: () => false, revision: () => false, allocation: () => false, backend: (v) => v === 'x' || v === '' || v === 'a\u001b[2Jb',
  device: () => false, offset: () => false, nbytes: () => false, leases: () => false, array: () => false,
  metadata: (v) => v instanceof Uint8Array && v.length > 0,
}

test.serial('answers with a field that is wrong end the session, with the reason', async (t) => {
  await withFake(t, async (fake) => {
    const wrong: Record<string, unknown>[] = []
    for (const [field, fits] of Object.entries(FIELDS)) for (const value of [...WRONG, undefined]) {
      if (!fits(value) && !(field === 'envelope' && value === undefined)) wrong.push({ [field]: value })
    }
    for (const [field, fits] of Object.entries(ENTRY)) for (const value of WRONG) if (!fits(value)) wrong.push({ entry: fake.entry({ [field]: value }) })
    for (const changes of wrong) {
      await against(t, fake, { open: ({ id }, send) => send(fake.opened(id, changes), fake.handle.descriptors) }, async (session) => {
        let told: unknown
        session.on('exporterGone', (reason) => (told = reason))
        const error = await failure(session.open('weights', { timeoutMs: 5000 }))
        const what = encodeURIComponent(JSON.stringify(changes, (_, v) => (typeof v === 'bigint' ? String(v) : v as unknown)).slice(0, 100))
        t.is(codeOf(error), 'EXPORTER_GONE', what)
        t.is(codeOf(error.cause), 'PROTOCOL', what)
        t.true(session.isClosed && session.signal.aborted)
        t.is(session.signal.reason, error)
        await until(() => told !== undefined, 1000)
        t.is(told, error)
        // oxlint-disable-next-line no-control-regex
        t.notRegex(error.message, /[\u0000-\u001f\u007f-\u009f]/)
      })
    }
    t.log(`${wrong.length} answers`)
  })
})

/** Frames instead of an answer to an open; each ends the session. */
const FRAMES: [string, (id: number, fake: FakeExporter) => object | Uint8Array][] = [
  ['noise', () => new Uint8Array(100).fill(0xc1)],
  ['half an answer', (id, fake) => encode(fake.opened(id)).subarray(0, 100)],
  ['an empty map', () => ({})],
  ['an endless map', () => bytes(0xdf, 0xff, 0xff, 0xff, 0xff)],
  ['deep nesting', () => new Uint8Array(65536).fill(0x91)],
  ['__proto__', () => new Uint8Array([0x81, 0xa9, ...new TextEncoder().encode('__proto__'), 0x80])],
  ['a request', (id) => ({ t: 'open', id, name: 'weights' })],
  ['a second welcome', () => ({ t: 'welcome', version: 1 })],
  ['an answer that nobody waits for', (id, fake) => fake.opened(id + 1)],
  ['a list that nobody waits for', (id) => ({ t: 'listed', id: id + 1, entries: [], more: false })],
  ['a refusal of what nobody asked', (id) => ({ t: 'refused', id: id + 1, code: 'no-such-name', message: '' })],
  ['a refusal of the connection, late', () => ({ t: 'refused', id: 0, code: 'closing', message: '' })],
  ['control characters in a refusal', (id) => ({ t: 'refused', id, code: 'no-such-name', message: 'a\u001b[2Jb' })],
  ['two lines in a refusal', (id) => ({ t: 'refused', id, code: 'no-such-name', message: 'a\nb' })],
  ['control characters in a code', (id) => ({ t: 'refused', id, code: 'a\u001bb', message: '' })],
  ['a notice without names', () => ({ t: 'withdrawn', lease: 1, names: [], revoked: true, graceMs: 0 })],
  ['a notice with 201', () => ({ t: 'withdrawn', lease: 1, names: Array(201).fill('x'), revoked: true, graceMs: 0 })],
  ['an entry whose range overflows', (id, fake) => fake.opened(id, { entry: fake.entry({ offset: Number.MAX_SAFE_INTEGER, nbytes: 2 }) })],
  ['an array that is none', (id, fake) => fake.opened(id, { entry: fake.entry({ array: new Uint8Array(64).fill(0xff) }) })],
  ['an array that does not fit', (id, fake) => fake.opened(id, { entry: fake.entry({ nbytes: 4, array: float32(2) }) })],
]

// The bytes of an envelope's array section, with `n` float32 in it.
function float32(n: number): Uint8Array {
  const array = new Uint8Array(24)
  const view = new DataView(array.buffer)
  array.set([2, 32, 1, 0, 1, 0, 0, 0])
  view.setBigUint64(8, BigInt(n), true)
  view.setBigUint64(16, 1n, true)
  return array
}

test.serial('frames that are no answer end the session', async (t) => {
  await withFake(t, async (fake) => {
    for (const [what, frame] of FRAMES) {
      await against(t, fake, { open: ({ id }, send) => send(frame(id, fake), fake.handle.descriptors) }, async (session) => {
        const error = await failure(session.open('weights', { timeoutMs: 5000 }))
        t.deepEqual([what, codeOf(error), codeOf(error.cause)], [what, 'EXPORTER_GONE', 'PROTOCOL'])
        t.is(codeOf(await failure(session.list())), 'EXPORTER_GONE')
      })
    }
  })
})

test.serial('floods of notices', async (t) => {
  await withFake(t, async (fake) => {
    let revoked = 0
    await against(t, fake, {}, async (session) => {
      session.on('revoked', () => revoked++)
      using weights = await session.open('weights')
      const { id } = weights.lease!
      fake.answers = {
        list: async (request, send) => {
          for (let i = 0; i < 5000; i++) {
            const names = i % 2 ? ['weights'] : Array.from({ length: 200 }, (_, n) => `n${n}`)
            await send({ t: 'withdrawn', lease: i % 3 ? id : 1e9 + i, names, revoked: i % 4 > 0, graceMs: 0 })
          }
          await send({ t: 'listed', id: request.id, entries: [], more: false })
        },
      }
      t.deepEqual(await session.list(), [])
      t.is(weights.lease!.state, 'revoked')
      t.is(codeOf(weights.lease!.signal.reason), 'REVOKED')
      const first = new Uint8Array(1)
      weights.copyTo(first)
      t.is(first[0], 7)
    })
    t.is(revoked, 1, 'a lease is revoked once')
  })
})

test.serial('the first answer', async (t) => {
  const cases: [string, Answers['hello'], string][] = [
    ['none', () => true, 'TIMEOUT'],
    ['the end', (_, __, channel) => channel.close() ?? true, 'EXPORTER_GONE'],
    ['noise', (_, send) => send(bytes(0xc1)), 'PROTOCOL'],
    ['another version', (_, send) => send({ t: 'welcome', version: 2 }), 'PROTOCOL'],
    ['something else', (_, send) => send({ t: 'listed', id: 0, entries: [], more: false }), 'PROTOCOL'],
    ['a hello', (_, send) => send({ t: 'hello', versions: [1] }), 'PROTOCOL'],
    ['a refusal', (_, send) => send({ t: 'refused', id: 0, code: 'unauthorized', message: 'no' }), 'UNAUTHORIZED'],
    ['a refusal with control characters', (_, send) => send({ t: 'refused', id: 0, code: 'unauthorized', message: '\u001b[2J' }), 'PROTOCOL'],
    ['a refusal with a prototype\'s name', (_, send) => send({ t: 'refused', id: 0, code: 'constructor', message: '' }), 'REFUSED'],
    ['a refusal by a verdict', (_, send) => send({ t: 'refused', id: 0, code: 'stale-handle', message: '' }), 'STALE_HANDLE'],
    ['16 descriptors', (_, send) => send(bytes(0xc1), Array<number>(16).fill(2)), 'PROTOCOL'],
  ]
  await withFake(t, async (fake) => {
    for (const [what, hello, code] of cases) {
      fake.answers = { hello: hello! }
      const options: ConnectOptions = code === 'TIMEOUT' ? { timeoutMs: 200 } : {}
      t.deepEqual([what, codeOf(await failure(connect(fake.path, options)))], [what, code])
    }
    fake.answers = { hello: (_, send) => send({ t: 'welcome', version: 1, surplus: true }, Array<number>(16).fill(2)) }
    await (await connect(fake.path)).close()
    fake.answers = {}
  })
})
