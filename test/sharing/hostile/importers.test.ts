// Importers that break the protocol, message by message: each is dropped for its own reason, and nobody else notices.
import { encode } from '@msgpack/msgpack'
import test from 'ava'
import { FdChannel } from '../../../host/index.ts'
import { decodeReply } from '../../../host/sharing/protocol.ts'
import { RawImporter } from '../raw.ts'
import { Besieged, push, untilDropped } from './support.ts'

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)
const repeated = (length: number, value: number): Uint8Array => new Uint8Array(length).fill(value)
const join = (...parts: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts))
const text = (value: string): Uint8Array => new TextEncoder().encode(value)
const OPEN = { t: 'open', id: 1, name: 'weights' }

/** Frames that are no message at all. */
const GARBAGE: [string, Uint8Array][] = [
  ['one zero', bytes(0)],
  ['bytes that MessagePack never uses', repeated(64, 0xc1)],
  ['64 KiB of 0xff', repeated(65536, 0xff)],
  ['half a message', encode(OPEN).subarray(0, 9)],
  ['all but the last byte', encode(OPEN).subarray(0, -1)],
  ['a message and a byte', join(encode(OPEN), bytes(0))],
  ['two messages', join(encode(OPEN), encode(OPEN))],
  ['an empty map', encode({})],
  ['an empty array', encode([])],
  ['nil', encode(null)],
  ['a string', encode('open')],
  ['a map that says it has 4 billion entries', bytes(0xdf, 0xff, 0xff, 0xff, 0xff)],
  ['an array that says so', bytes(0xdd, 0xff, 0xff, 0xff, 0xff)],
  ['a string that says it has 4 GiB', bytes(0xdb, 0xff, 0xff, 0xff, 0xff, 0x61)],
  ['bytes that say so', bytes(0xc6, 0xff, 0xff, 0xff, 0xff, 0x61)],
  ['an extension that says so', bytes(0xc9, 0xff, 0xff, 0xff, 0xff, 0x01, 0x61)],
  ['a map of 65 entries', encode({ ...OPEN, ...Object.fromEntries(Array.from({ length: 62 }, (_, i) => [`x${i}`, i])) })],
  ['an array of 4097', encode({ ...OPEN, x: Array(4097).fill(0) })],
  ['an extension', encode({ ...OPEN, x: new Date(0) })],
  ['64 Ki arrays in each other', repeated(65536, 0x91)],
  ['64 Ki maps in each other', repeated(65536, 0x81)],
  ['__proto__ as a key', join(bytes(0x82, 0xa1, 0x74, 0xa4), text('open'), bytes(0xa9), text('__proto__'), bytes(0x80))],
  ['a type that Object.prototype has', encode({ t: 'toString' })],
  ['the type __proto__', encode({ t: '__proto__' })],
  ['a type that is an array', encode({ t: ['open'] })],
  ['an answer', encode({ t: 'welcome', version: 1 })],
  ['a key that is a map', join(bytes(0x81, 0x80), bytes(0x80))],
  ['no type', encode({ id: 1, name: 'weights' })],
  ['a type in capitals', encode({ t: 'OPEN', id: 1, name: 'weights' })],
]

const strings = ['', 'x', 'weights']
const WRONG: unknown[] = [
  null, true, -1, 1.5, NaN, Infinity, -Infinity, 2 ** 32, 2 ** 53, 2 ** 53 + 2, -(2 ** 53), 0xffff_ffff_ffff_ffffn, -(2n ** 63n), ...strings,
  bytes(1), repeated(15, 1), repeated(17, 1), [], {}, [[]], [null], [-1], [1.5], ['1'], [2 ** 53], { length: 1 }, Array(1025).fill(1),
]
const isText = (v: unknown): boolean => typeof v === 'string'

/** For each field of each request: what is wrong in it. */
const FIELDS: { message: Record<string, unknown>; field: string; fits: (value: unknown) => boolean; more?: unknown[] }[] = [
  { message: { t: 'list', id: 1, prefix: '', after: '' }, field: 'id', fits: () => false, more: [undefined] },
  { message: { t: 'list', id: 1, prefix: '', after: '' }, field: 'prefix', fits: isText, more: [undefined, 'x'.repeat(256)] },
  { message: { t: 'list', id: 1, prefix: '', after: '' }, field: 'after', fits: isText, more: [undefined, 'x'.repeat(256)] },
  { message: OPEN, field: 'id', fits: () => false, more: [undefined] },
  { message: OPEN, field: 'name', fits: (v) => isText(v) && v !== '', more: ['x'.repeat(256), 'é'.repeat(128), 'a\nb', 'a\u0000', 'a\u001b[2J', 'a\u007f', 'a\u0085'] },
  { message: OPEN, field: 'allocation', fits: () => false },
  { message: { t: 'release', leases: [1] }, field: 'leases', fits: () => false, more: [undefined, [0], [1, null]] },
]
const CASES: [string, Uint8Array][] = [
  ...GARBAGE,
  ...FIELDS.flatMap(({ message, field, fits, more = [] }) => [...WRONG.filter((v) => !fits(v)), ...more].map((value): [string, Uint8Array] => [
    `${String(message['t'])}.${field} ${typeof value === 'bigint' ? `${value}n` : JSON.stringify(value)?.slice(0, 40)}`, encode({ ...message, [field]: value }, { ignoreUndefined: true, useBigInt64: true }),
  ])),
]

test.serial('instead of a hello: refused by name and dropped', async (t) => {
  await using besieged = await Besieged.start(t)
  const hellos = WRONG.map((versions) => encode({ t: 'hello', versions }, { useBigInt64: true }))
  const others = [encode(OPEN), encode({ t: 'list', id: 1, prefix: '', after: '' }), encode({ t: 'release', leases: [1] }), encode({ t: 'hello' }), encode({ t: 'hello', versions: Array(17).fill(1) })]
  const frames = [...GARBAGE.map(([, frame]) => frame), ...hellos, ...others]
  for (const frame of frames) {
    using channel = await FdChannel.connect(besieged.path)
    await push(channel, frame)
    const answers = await untilDropped(channel)
    t.is(answers.length, 1)
    t.like(decodeReply(answers[0]!), { t: 'refused', id: 0, code: 'protocol' })
  }
  await besieged.flat(t)
  t.log(`${frames.length} first messages`)
})

test.serial('after the welcome: dropped without an answer', async (t) => {
  await using besieged = await Besieged.start(t)
  for (const [what, frame] of CASES) {
    using importer = await RawImporter.welcomed(besieged.path)
    await push(importer.channel, frame)
    t.deepEqual(await untilDropped(importer.channel), [], what)
  }
  t.deepEqual(await besieged.dropped(CASES.length), Array(CASES.length).fill('ERR_USM_IPC_PROTOCOL'))
  await besieged.flat(t)
  t.log(`${CASES.length} messages`)
})

test.serial('with a lease in hand: dropped, and the lease ends', async (t) => {
  await using besieged = await Besieged.start(t)
  const some = CASES.filter((_, i) => i % 5 === 0)
  for (const [what, frame] of some) {
    using importer = await RawImporter.welcomed(besieged.path)
    await importer.open('weights')
    await push(importer.channel, frame)
    t.deepEqual(await untilDropped(importer.channel), [], what)
  }
  t.deepEqual(await besieged.dropped(some.length), Array(some.length).fill('ERR_USM_IPC_PROTOCOL'))
  await besieged.flat(t)
})

test.serial('versions of the protocol that it does not speak', async (t) => {
  await using besieged = await Besieged.start(t)
  for (const versions of [[0], [2], [2, 3, 0xffff_ffff]]) {
    using channel = await FdChannel.connect(besieged.path)
    await push(channel, encode({ t: 'hello', versions }))
    t.like(decodeReply((await untilDropped(channel))[0]!), { t: 'refused', id: 0, code: 'unsupported-protocol' })
  }
  using both = await FdChannel.connect(besieged.path)
  await push(both, encode({ t: 'hello', versions: [7, 1], surplus: { of: 'fields' } }))
  t.like(decodeReply((await both.receive()).bytes), { t: 'welcome', version: 1 })
  both.close()
  t.deepEqual(await besieged.dropped(1), ['ERR_USM_IPC_PEER_GONE'], 'only who was welcomed is reported')
  await besieged.flat(t)
})

test.serial('messages out of order: a second hello, leases of others, leases twice', async (t) => {
  await using besieged = await Besieged.start(t)
  using other = await RawImporter.welcomed(besieged.path)
  const { message: { lease: foreign } } = await other.open('weights')
  const attacks: ((importer: RawImporter) => Promise<void>)[] = [
    (importer) => importer.send({ t: 'hello', versions: [1] }),
    (importer) => importer.send({ t: 'release', leases: [foreign] }),
    (importer) => importer.send({ t: 'release', leases: [foreign + 1000] }),
    async (importer) => importer.send({ t: 'release', leases: Array(2).fill((await importer.open('weights')).message.lease) as number[] }),
    async (importer) => {
      const { lease } = (await importer.open('weights')).message
      await importer.send({ t: 'release', leases: [lease] })
      await importer.send({ t: 'release', leases: [lease] })
    },
    async (importer) => importer.send({ t: 'release', leases: [(await importer.open('weights')).message.lease, foreign] }),
  ]
  for (const attack of attacks) {
    using importer = await RawImporter.welcomed(besieged.path)
    await attack(importer)
    t.deepEqual(await untilDropped(importer.channel), [])
  }
  t.deepEqual(await besieged.dropped(attacks.length), Array(attacks.length).fill('ERR_USM_IPC_PROTOCOL'))
  // Whose lease they wanted to end has it still.
  const { leases } = await besieged.exporter.do({ do: 'leases' })
  t.deepEqual(leases!.map(({ id }) => id), [foreign])
  await other.send({ t: 'release', leases: [foreign] })
  other.channel.close()
  await besieged.flat(t)
})

test.serial('odd, but in order: ids used again, names that are not there, both ways to name', async (t) => {
  await using besieged = await Besieged.start(t)
  using importer = await RawImporter.welcomed(besieged.path)
  const ask = async (message: object): Promise<object> => {
    await push(importer.channel, encode(message))
    return (await importer.hear()).message
  }
  const { lease } = (await importer.open('weights')).message
  // The same id as often as one likes: it is the importer's own to tell answers by. One lease, no second descriptor.
  for (let i = 0; i < 3; i++) {
    const { message, frame } = await importer.open('weights')
    t.like(message, { lease, envelope: undefined })
    t.is(frame.descriptors.length, 0)
  }
  for (const id of [0, 0xffff_ffff]) t.like(await ask({ t: 'list', id, prefix: '', after: '' }), { t: 'listed', id })
  t.like(await ask({ t: 'open', id: 5 }), { t: 'refused', id: 5, code: 'no-such-name' })
  t.like(await ask({ t: 'open', id: 6, name: '__proto__' }), { t: 'refused', id: 6, code: 'no-such-name' })
  t.like(await ask({ t: 'open', id: 6, name: 'constructor' }), { t: 'refused', id: 6, code: 'no-such-name' })
  t.like(await ask({ t: 'open', id: 7, name: 'weights', allocation: repeated(16, 9) }), { t: 'opened', id: 7, lease })
  t.like(await ask({ t: 'open', id: 8, allocation: repeated(16, 9) }), { t: 'refused', id: 8 })
  t.like(await ask({ t: 'open', id: 9, allocation: repeated(16, 0) }), { t: 'refused', id: 9 })
  t.like(await ask({ t: 'list', id: 10, prefix: '\ud800', after: '\uffff' }), { t: 'listed', id: 10, entries: [], more: false })
  // Text that is no UTF-8 is no name of anything.
  await push(importer.channel, join(encode({ t: 'open', id: 11 }).with(0, 0x83), bytes(0xa4), text('name'), bytes(0xa2, 0xff, 0xfe)))
  t.like((await importer.hear()).message, { t: 'refused', id: 11, code: 'no-such-name' })
  importer.channel.close()
  t.deepEqual(await besieged.dropped(1), ['ERR_USM_IPC_PEER_GONE'])
  await besieged.flat(t)
})

test.serial('descriptors, which no importer has to send', async (t) => {
  await using besieged = await Besieged.start(t)
  for (const count of [1, 2, 16]) {
    for (const frame of [encode({ t: 'list', id: 1, prefix: '', after: '' }), bytes(0)]) {
      using importer = await RawImporter.welcomed(besieged.path)
      await push(importer.channel, frame, Array<number>(count).fill(0))
      t.deepEqual(await untilDropped(importer.channel), [])
    }
    using first = await FdChannel.connect(besieged.path)
    await push(first, encode({ t: 'hello', versions: [1] }), Array<number>(count).fill(0))
    await untilDropped(first)
  }
  t.deepEqual(await besieged.dropped(6), Array(6).fill('ERR_USM_IPC_UNEXPECTED_DESCRIPTORS'))
  await besieged.flat(t)
})
