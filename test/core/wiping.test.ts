// No call leaves a key, or anything made of one, in the core's memory: the whole memory is searched after each.
import { inspect as show } from 'node:util'
import test from 'ava'
import { Core, MAX_ENVELOPE, VERDICTS, seal, type EnvelopeKey } from '../../host/core/index.ts'
import { authenticateWith } from '../../host/core/authenticate.ts'
import { inspectWith } from '../../host/core/inspect.ts'
import { sealWith } from '../../host/core/seal.ts'
import { KEY_RECORD, keyRecord } from '../../host/keys.ts'
import { base, baseHandle, baseHeader } from './support/base.ts'
import { authenticated } from './support/forge.ts'
import { leftOf } from './support/secrets.ts'

// Not found anywhere by accident.
const KEY: EnvelopeKey = { id: 5, key: Uint8Array.from({ length: 64 }, (_, i) => (i * 73 + 41) ^ (i << 3)) }
const SECOND: EnvelopeKey = { id: 6, key: KEY.key.map((b, i) => b ^ (i * 29 + 5)).slice(0, 40) }
const envelope = authenticated(base('host'), KEY)

function clean(core: Core): string | undefined {
  return leftOf(core, KEY.key) ?? leftOf(core, SECOND.key)
}

test('the search finds what it looks for', (t) => {
  const core = new Core()
  t.is(clean(core), undefined)
  core.u8.set(KEY.key.subarray(20, 28), core.listAt + 5000)
  t.regex(clean(core)!, /the key's bytes from 20 on/)
  core.u8.fill(0, core.listAt + 5000, core.listAt + 5008)
  core.u8.set(SECOND.key.map((b) => b ^ 0x5c), core.listAt)
  t.regex(clean(core)!, /the outer pad's bytes/)
  core.u8.fill(0, core.listAt, core.listAt + 64)
  core.u8[20000] = 1
  t.regex(clean(core)!, /scratch memory at 20000/)
})

test('validate, decode and inspect, accepted and refused', (t) => {
  const core = new Core()
  const keys = [KEY, SECOND]
  const inputs = [
    envelope, authenticated(base('host'), SECOND), authenticated(base('host'), { ...KEY, id: 9 }), authenticated(base('host'), { ...SECOND, id: KEY.id }),
    base('host'), envelope.with(60, 1), envelope.subarray(0, 50), new Uint8Array(0), new Uint8Array(40_000), envelope.with(0, 0),
  ]
  const verdicts = new Set<string>()
  for (const bytes of inputs) {
    for (const policy of [{ keys }, { keys, requireAuthentication: true }, { keys, now: 0 }, { keys, nbytes: 1 }]) {
      verdicts.add(core.validate(bytes, policy))
      t.is(clean(core), undefined)
      inspectWith(core, bytes, { policy })
      t.is(clean(core), undefined)
    }
  }
  t.true(verdicts.size > 6, [...verdicts].join())
})

test('batches, however many calls one is', (t) => {
  const core = new Core()
  const count = 5000
  const bytes = new Uint8Array(Buffer.concat(Array.from({ length: count }, () => envelope)))
  const spans = Uint32Array.from(Array.from({ length: count }, (_, i) => [i * envelope.length, envelope.length]).flat())
  t.true(core.validateBatch(bytes, spans, { keys: [SECOND, KEY] }).every((code) => code === 0))
  t.is(clean(core), undefined)
  t.throws(() => core.validateBatch(bytes, Uint32Array.of(0, 100, bytes.length, 1), { keys: [KEY] }), { instanceOf: RangeError })
  t.is(clean(core), undefined)
  core.validateBatch(bytes, new Uint32Array(0), { keys: [KEY] })
  t.is(clean(core), undefined)
})

test('sealing and authenticating, done and refused', (t) => {
  const core = new Core()
  const sections = { handle: baseHandle('cuda') }
  t.is(sealWith(core, baseHeader('cuda'), sections, { key: KEY }).length, 260)
  t.is(clean(core), undefined)
  t.throws(() => sealWith(core, { ...baseHeader('cuda'), nbytes: 0 }, sections, { key: KEY }), { code: 'ERR_USM_IPC_ZERO_NBYTES' })
  t.throws(() => sealWith(core, { ...baseHeader('cuda'), pid: -1 }, sections, { key: KEY }), { instanceOf: RangeError })
  t.throws(() => sealWith(core, baseHeader('cuda'), { handle: new Uint8Array(20_000) }, { key: KEY }), { code: 'ERR_USM_IPC_TOO_LONG' })
  t.is(clean(core), undefined)
  authenticateWith(core, base('cuda'), KEY)
  t.is(clean(core), undefined)
  t.throws(() => authenticateWith(core, base('cuda').with(60, 1), KEY), { code: 'ERR_USM_IPC_BAD_CHECKSUM' })
  const fill = 16380 - seal(baseHeader('cuda'), { ...sections, unknown: [{ type: 6, critical: false, bytes: new Uint8Array(0) }] }).length
  const longest = seal(baseHeader('cuda'), { ...sections, unknown: [{ type: 6, critical: false, bytes: new Uint8Array(fill) }] })
  t.throws(() => authenticateWith(core, longest, KEY), { code: 'ERR_USM_IPC_TOO_LONG' })
  t.is(clean(core), undefined)
})

test('the raw exports, whatever is wrong with their arguments', (t) => {
  const core = new Core()
  const { exports, inputAt, policyAt, keysAt, listAt } = core
  const end = exports.ioAddress() + exports.ioSize()
  const view = new DataView(core.u8.buffer)
  const put = (at: number, ...keys: EnvelopeKey[]): number => {
    keys.forEach((key, i) => core.u8.set(keyRecord(key, 'key'), at + i * KEY_RECORD))
    return at
  }
  const policy = (flags: number, keys: number, count: number): number => {
    core.u8.fill(0, policyAt, policyAt + 64)
    view.setUint32(policyAt, flags, true)
    view.setUint32(policyAt + 48, keys, true)
    view.setUint32(policyAt + 52, count, true)
    return policyAt
  }
  core.u8.set(envelope, inputAt)
  const calls: [verdict: string, call: () => number][] = [
    ['ok', () => exports.validate(inputAt, envelope.length, policy(0, put(keysAt, KEY, SECOND), 2))],
    ['bad-span', () => exports.validate(0, 10, policy(0, put(keysAt, KEY, SECOND), 2))],
    ['bad-span', () => exports.validate(inputAt, 0xffff_ffff, policy(0, put(keysAt, KEY), 1))],
    ['bad-policy', () => exports.validate(inputAt, envelope.length, policy(64, put(keysAt, KEY), 1))],
    ['bad-policy', () => exports.validate(inputAt, envelope.length, policy(0, put(keysAt, KEY, KEY), 2))],
    ['bad-policy', () => exports.validate(inputAt, envelope.length, policy(0, put(keysAt, KEY), 17))],
    ['bad-span', () => exports.validate(inputAt, envelope.length, policy(0, put(end - KEY_RECORD, KEY), 2))],
    ['bad-span', () => exports.validate(inputAt, envelope.length, policy(0, put(end - KEY_RECORD, KEY), 0xffff_ffff))],
    ['bad-span', () => exports.validateBatch(0, 1, policy(0, put(keysAt, KEY), 1), listAt)],
    ['bad-span', () => exports.validateBatch(listAt, 1, policy(0, put(keysAt, KEY), 1), 0)],
    ['bad-span', () => exports.validateBatch(listAt, 100_000, policy(0, put(keysAt, KEY), 1), listAt)],
    ['bad-span', () => exports.validateBatch(listAt, 1, policy(0, put(keysAt, KEY), 1), keysAt + 71)],
    ['ok', () => exports.validateBatch(listAt, 0, policy(0, put(keysAt, KEY), 1), listAt)],
    ['bad-span', () => -exports.sealEndAuthenticated(0, 1000, put(keysAt, KEY))],
    ['bad-span', () => -exports.sealEndAuthenticated(inputAt, 100, put(keysAt, KEY))],
    ['buffer-too-small', () => -exports.sealEndAuthenticated((exports.sealBegin(listAt, 1000), listAt), 160, put(keysAt, KEY))],
    ['unknown-kind', () => -exports.sealEndAuthenticated((exports.sealBegin(listAt, 1000), listAt), 1000, put(keysAt, KEY))],
    ['bad-span', () => -exports.authenticate(end, 1000, put(keysAt, KEY))],
    ['truncated', () => -exports.authenticate(inputAt, envelope.length - 1, put(keysAt, KEY))],
    ['bad-key', () => {
      put(keysAt, KEY)
      view.setUint32(keysAt, 0, true)
      return -exports.authenticate(inputAt, MAX_ENVELOPE, keysAt)
    }],
    ['bad-key', () => {
      put(keysAt, SECOND)
      view.setUint32(keysAt + 4, 20, true)
      return -exports.authenticate(inputAt, MAX_ENVELOPE, keysAt)
    }],
    // A record under what is written: the result is of no use, but nothing traps and nothing is left.
    ['any', () => -exports.authenticate(inputAt, MAX_ENVELOPE, put(inputAt + 4, KEY))],
  ]
  for (const [verdict, call] of calls) {
    core.u8.set(envelope, inputAt)
    const code = call()
    if (verdict !== 'any') t.is(VERDICTS[code] as string, verdict, String(call))
    t.is(clean(core), undefined, String(call))
  }
})

test('copies outside the core are gone too, and what is left of a key shows nothing', async (t) => {
  const { checkKey, checkKeys } = await import('../../host/keys.ts')
  const { PreparedPolicy, writePolicy } = await import('../../host/core/policy.ts')
  const core = new Core()
  const records = keyRecord(KEY, 'key')
  const policy = new PreparedPolicy({}).set(1_700_000_000_001, undefined, records)
  t.is(core.validateCode(envelope, policy), 0)
  t.true(records.every((b) => b === 0))
  t.not(core.validateCode(envelope, policy), 0, 'a policy whose keys are used up fails closed')
  const { keys } = writePolicy({ keys: [KEY] })
  t.throws(() => core.validateCode(5 as never, new PreparedPolicy({}).set(1, undefined, keys)), { code: 'ERR_USM_IPC_INVALID_BYTES' })
  t.true(keys!.every((b) => b === 0))
  const copies = [checkKey(KEY, 'key'), ...checkKeys([KEY, SECOND], 'keys')]
  t.deepEqual(copies.map(({ id, key }) => ({ id, key })), [KEY, KEY, SECOND])
  for (const text of [show(copies, { depth: 5 }), JSON.stringify(copies)]) t.regex(text, /^\[[\s{"]*id/)
  t.false(/key|\d\d+/.test(show(copies, { depth: 5 })))
})
