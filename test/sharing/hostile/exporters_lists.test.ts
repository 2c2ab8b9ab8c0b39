// Exporters that lie about what they have published: lists, and the metadata in them.
import { encode } from '@msgpack/msgpack'
import test from 'ava'
import type { MemoryIPCDevice } from '../../../host/index.ts'
import { startChannelThread } from '../../support/child.ts'
import { NBYTES, type Answers } from './fake_exporter.ts'
import { against, codeOf, failure, withFake, works } from './sessions.ts'

test.before(startChannelThread)

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

test.serial('lists that lie about ranges, names and allocations do not get through openAll', async (t) => {
  await withFake(t, async (fake) => {
    const lies: [string, object[]][] = [
      ['a range beyond the export', [{ name: 'b', offset: NBYTES - 4, nbytes: 8 }]],
      ['a range that begins beyond it', [{ name: 'b', offset: 2 ** 40, nbytes: 4096 }]],
      ['the range of another allocation', [{ name: 'b', nbytes: 16, allocation: new Uint8Array(16).fill(3) }]],
      ['a name twice', [{ name: 'b', nbytes: 16 }, { name: 'b', nbytes: 16 }]],
      ['names out of order', [{ name: 'c', nbytes: 16 }, { name: 'b', nbytes: 16 }]],
    ]
    for (const [what, others] of lies) {
      const answers: Answers = { list: ({ id }, send) => send({ t: 'listed', id, entries: [fake.entry({ name: 'a' }), ...others.map((o) => fake.entry(o))], more: false }) }
      answers.open = ({ id, name }, send) => (name === 'a' ? send(fake.opened(id, { entry: fake.entry({ name: 'a' }) }), fake.handle.descriptors) : send({ t: 'refused', id, code: 'no-such-name', message: '' }))
      await against(t, fake, answers, async (session) => {
        const outcome = await session.openAll().catch((error: unknown) => error)
        t.is(outcome instanceof Map ? `opened: ${[...(outcome as Map<string, MemoryIPCDevice>)].map(([name, { nbytes }]) => `${name} ${nbytes}`).join()}` : codeOf(outcome), 'PROTOCOL', what)
      })
    }
  })
})

test.serial('lists without an end', async (t) => {
  await withFake(t, async (fake) => {
    let page = 0
    const endless: Answers = { list: ({ id }, send) => send({ t: 'listed', id, entries: [fake.entry({ name: `n${String(++page).padStart(9, '0')}` })], more: true }) }
    await against(t, fake, endless, async (session) => {
      t.is(codeOf(await failure(session.list({ timeoutMs: 300 }))), 'TIMEOUT')
      t.is(codeOf(await failure(session.openAll({ timeoutMs: 300 }))), 'TIMEOUT')
      await works(t, session)
    })
    for (const [what, entries] of [['the same page', ['a']], ['an earlier name', ['a', 'Z']]] as const) {
      let turn = 0
      await against(t, fake, { list: ({ id }, send) => send({ t: 'listed', id, entries: [fake.entry({ name: entries[turn++ % entries.length] })], more: true }) }, async (session) => {
        t.deepEqual([what, codeOf(await failure(session.list()))], [what, 'PROTOCOL'])
      })
    }
    await against(t, fake, { list: ({ id }, send) => send({ t: 'listed', id, entries: [], more: true }) }, async (session) => void t.deepEqual(await session.list(), []))
    await against(t, fake, { list: ({ id }, send) => send(fake.opened(id), fake.handle.descriptors) }, async (session) => {
      t.is(codeOf(await failure(session.list())), 'PROTOCOL')
      await works(t, session)
    })
  })
})

const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
const METADATA: [string, Uint8Array][] = [
  ['a list', encode([1])], ['nil', encode(null)], ['text', encode('x')], ['bytes', encode(bytes(1))], ['noise', bytes(0xc1)], ['half of it', encode({ a: 'text' }).subarray(0, 4)],
  ['more behind it', new Uint8Array([...encode({}), 0])], ['__proto__', new Uint8Array([0x81, 0xa9, ...new TextEncoder().encode('__proto__'), 0x80])],
  ['an extension', encode({ a: new Date() })], ['too many levels', encode(nested(20))], ['thousands of levels', new Uint8Array([0x81, 0xa1, 0x61, ...Array<number>(8000).fill(0x91), 0x01])],
  ['a number that is none', encode({ a: NaN })],
]
for (const [what, metadata] of METADATA) {
  test.serial(`metadata that is no plain map: ${what}`, async (t) => {
    await withFake(t, async (fake) => {
      const entry = fake.entry({ metadata })
      await against(t, fake, {
        list: ({ id }, send) => send({ t: 'listed', id, entries: [entry], more: false }),
        open: ({ id }, send) => send(fake.opened(id, { entry }), fake.handle.descriptors),
      }, async (session) => {
        t.is(codeOf(await failure(session.list())), 'PROTOCOL')
        // The memory itself is as good as any; its description is refused to whoever asks for it.
        using weights = await session.open('weights')
        t.throws(() => weights.describe(), { code: 'ERR_USM_IPC_PROTOCOL' })
      })
    })
  })
}
