// Envelopes with a tag: what was sealed is accepted under its key, and nothing else is.
import { readFileSync } from 'node:fs'
import test from 'ava'
import fc from 'fast-check'
import {
  Core, HEADER, VERDICTS, authenticateEnvelope, decode, fromHex, inspect, seal, toHex, validate, type EnvelopeKey, type Policy, type VerdictName,
} from '../../host/core/index.ts'
import { MAX_KEYS } from '../../host/keys.ts'
import { CREATED, EXPIRES, KEY, base } from './support/base.ts'
import { coverFault } from './support/cover.ts'
import { checksummedFlips, plainFlips, truncations } from './support/flips.ts'
import { authenticated, crcAt, fixCrc, fixHeader, fixTag, forged, lengthened, stripped, tagOf, view, withSection } from './support/forge.ts'
import { LAYOUT_NAMES, expected, plan, plans } from './support/generate.ts'
import { Random } from './support/source.ts'

const core = new Core()
const NEXT: EnvelopeKey = { id: 8, key: new Uint8Array(16).fill(8) }
const OTHER: EnvelopeKey = { id: KEY.id, key: KEY.key.with(0, KEY.key[0]! ^ 1) }
const host = authenticateEnvelope(base('host'), KEY)
const verdict = (bytes: Uint8Array, ...keys: EnvelopeKey[]): VerdictName => validate(bytes, { keys })

test('what was sealed with a key is decoded with it, byte for byte as the document says', (t) => {
  fc.assert(fc.property(plans(), fc.integer({ min: 1, max: 0xffff_ffff }), fc.uint8Array({ minLength: 16, maxLength: 64 }), (p, id, key) => {
    const bytes = seal(p.header, p.sections, { key: { id, key } })
    t.deepEqual(decode(bytes, { keys: [{ id, key }] }), { ...expected(p), keyId: id })
    t.deepEqual(bytes, authenticated(seal(p.header, p.sections), { id, key }))
    t.is(coverFault(inspect(bytes).fields, bytes.length), undefined)
    t.is(inspect(bytes).fields.at(-1)!.value, toHex(tagOf(bytes.subarray(0, -32), key)))
  }), { numRuns: 300 })
})

test('an envelope that has no tag gets the same one later', (t) => {
  const random = new Random(1)
  for (let i = 0; i < 300; i++) {
    const { header, sections } = plan(random)
    const plain = seal(header, sections)
    const once = authenticateEnvelope(plain, KEY)
    t.deepEqual(once, seal(header, sections, { key: KEY }))
    t.deepEqual(authenticateEnvelope(once, KEY), once)
    const rotated = authenticateEnvelope(once, NEXT)
    t.deepEqual(rotated, seal(header, sections, { key: NEXT }))
    t.deepEqual(stripped(rotated), plain)
  }
})

test('a later minor version is authenticated like this one', (t) => {
  const bytes = withSection(lengthened(base('cuda'), 3, new Uint8Array(16).fill(1)), 99, 0, Uint8Array.of(1, 2, 3))
  const tagged = authenticateEnvelope(bytes, KEY)
  t.deepEqual(tagged, authenticated(bytes, KEY))
  t.is(verdict(tagged, KEY), 'ok')
})

test('only a valid envelope is authenticated, and only where there is room', (t) => {
  t.throws(() => authenticateEnvelope(new Uint8Array(0), KEY), { code: 'ERR_USM_IPC_EMPTY' })
  t.throws(() => authenticateEnvelope(host.with(60, 1), KEY), { code: 'ERR_USM_IPC_BAD_CHECKSUM' })
  t.throws(() => authenticateEnvelope(host.subarray(0, -1), KEY), { code: 'ERR_USM_IPC_TRUNCATED' })
  t.throws(() => authenticateEnvelope(new Uint8Array([...host, 0]), KEY), { code: 'ERR_USM_IPC_TRAILING_BYTES' })
  const { header, sections } = plan(new Random(9))
  const of = (length: number, key?: EnvelopeKey): Uint8Array =>
    seal(header, { handle: sections.handle, ...(sections.descriptors && { descriptors: sections.descriptors }), unknown: [{ type: 6, critical: false, bytes: new Uint8Array(length) }] }, key && { key })
  const room = 16384 - of(0).length - ((16384 - of(0).length) % 8)
  t.is(verdict(of(room - 32, KEY), KEY), 'ok')
  t.throws(() => of(room - 24, KEY), { code: 'ERR_USM_IPC_TOO_LONG' })
  t.throws(() => authenticateEnvelope(of(room - 24), KEY), { code: 'ERR_USM_IPC_TOO_LONG', message: /cannot authenticate this/ })
})

test('the corpus: every envelope and every forged one has its verdict, without keys too', (t) => {
  const corpus = JSON.parse(readFileSync(new URL('../data/authenticated.json', import.meta.url), 'utf8')) as {
    keys: { id: number; key: string }[]
    envelopes: { layout: string; what: string; hex: string; verdict: VerdictName }[]
  }
  const keys = corpus.keys.map(({ id, key }) => ({ id, key: fromHex(key)! }))
  t.deepEqual(new Set(corpus.envelopes.map((e) => e.layout)), new Set(LAYOUT_NAMES))
  const needKeys = new Set<VerdictName>(['unauthenticated', 'unknown-key', 'bad-tag'])
  for (const e of corpus.envelopes) {
    const bytes = fromHex(e.hex)!
    t.is(validate(bytes, { keys }), e.verdict, `${e.layout}: ${e.what}`)
    t.is(validate(bytes), needKeys.has(e.verdict) ? 'ok' : e.verdict, `${e.layout}: ${e.what}, without keys`)
  }
  t.deepEqual([...needKeys].filter((v) => !corpus.envelopes.some((e) => e.verdict === v)), [])
})

test('forged variants are refused, each by its own verdict', (t) => {
  for (const layout of LAYOUT_NAMES) {
    const bytes = authenticateEnvelope(base(layout), KEY)
    const changed = (change: (v: DataView) => void): Uint8Array => {
      const copy = bytes.slice()
      change(view(copy))
      return fixCrc(fixHeader(copy))
    }
    const rows: [what: string, bytes: Uint8Array, verdict: VerdictName][] = [
      ['another key of that id', authenticateEnvelope(bytes, OTHER), 'bad-tag'],
      ['a key that is not there', authenticateEnvelope(bytes, NEXT), 'unknown-key'],
      ['no tag', base(layout), 'unauthenticated'],
      ['the tag taken off', stripped(bytes), 'unauthenticated'],
      ['the key id changed', changed((v) => v.setUint32(HEADER.key_id, 9, true)), 'unknown-key'],
      ['the key id zero', changed((v) => v.setUint32(HEADER.key_id, 0, true)), 'authentication-without-key'],
      ['the device changed', changed((v) => v.setUint8(HEADER.device_uuid, 0)), 'bad-tag'],
      ['the expiry taken away', changed((v) => v.setBigUint64(HEADER.expires, 0n, true)), 'bad-tag'],
      ['the tag of another envelope', new Uint8Array([...bytes.subarray(0, -32), ...host.subarray(-32).toReversed()]), 'bad-tag'],
      ['another flag', changed((v) => v.setUint16(HEADER.flags, 3, true)), 'unknown-flags'],
      ['another flag, well tagged', fixTag(changed((v) => v.setUint16(HEADER.flags, 3, true)), KEY.key), 'unknown-flags'],
    ]
    for (const [what, forgery, why] of rows) t.is(verdict(forgery, KEY), why, `${layout}: ${what}`)
    const short = stripped(bytes)
    view(short).setUint32(HEADER.key_id, KEY.id, true)
    t.is(verdict(fixCrc(short), KEY), 'key-without-authentication')
  }
})

test('each flipped bit, the tag\'s too, is refused; with the checksum put right by the tag', (t) => {
  const random = new Random(3)
  const { exports, u8, inputAt: at, policyAt } = core
  let flips = 0
  for (let n = 0; n < 60; n++) {
    const { header, sections } = plan(random)
    const bytes = seal(header, sections, { key: KEY })
    const ask = (copy: Uint8Array, keys?: EnvelopeKey[]): string => VERDICTS[core.validateCode(copy, keys && { keys })]!
    t.is(ask(bytes, [KEY]), 'ok')
    for (let i = 0; i < bytes.length * 8; i++, flips++) {
      const byte = i >> 3
      const copy = bytes.slice()
      copy[byte]! ^= 1 << (i & 7)
      const inTag = byte >= bytes.length - 32
      if (inTag) {
        t.is(ask(copy, [KEY]), 'bad-tag')
        continue
      }
      if (ask(copy, [KEY]) === 'ok') t.fail(`bit ${i} of ${toHex(bytes)}`)
      if (byte >= crcAt(bytes)) continue
      view(copy).setUint32(crcAt(bytes), exports.crc32c((u8.set(copy, at), at), crcAt(bytes)), true)
      const without = ask(copy)
      const wanted = without !== 'ok' ? without : byte >= HEADER.key_id && byte < HEADER.key_id + 4 ? 'unknown-key' : 'bad-tag'
      const got = ask(copy, [KEY])
      if (got !== wanted) t.fail(`bit ${i} of ${toHex(bytes)}: ${got}, not ${wanted}`)
    }
  }
  t.true(flips > 60 * 8 * 250 && policyAt > 0)
})

test('authenticated envelopes have the properties of all others', (t) => {
  const random = new Random(4)
  for (let n = 0; n < 100; n++) {
    const { header, sections } = plan(random)
    const sealed = seal(header, sections)
    const bytes = authenticated(n % 4 === 3 ? lengthened(sealed, 2, random.bytes(8 * random.int(0, 4))) : sealed, KEY)
    for (const check of [plainFlips, truncations, checksummedFlips]) {
      // Without keys, bits of the tag are not looked at.
      const { fault } = check(core, bytes)
      t.true(fault === undefined || (check === plainFlips && new RegExp(`of byte ${bytes.length - 32}: 0$`).test(fault)), `${check.name}: ${fault}`)
    }
  }
})

test('keys of every length; zeros at the end of one are nothing to HMAC', (t) => {
  const short = { id: 1, key: new Uint8Array(16).fill(5) }
  const bytes = authenticateEnvelope(base('cuda'), short)
  t.is(verdict(bytes, short), 'ok')
  t.is(verdict(bytes, { id: 1, key: new Uint8Array([...short.key, 0]) }), 'ok')
  t.is(verdict(bytes, { id: 1, key: new Uint8Array([...short.key, 5]) }), 'bad-tag')
  t.is(verdict(bytes, { id: 1, key: short.key.with(15, 4) }), 'bad-tag')
  for (let length = 16; length <= 64; length++) {
    const key = { id: 0xffff_ffff, key: Uint8Array.from({ length }, (_, i) => i * length) }
    t.is(verdict(authenticateEnvelope(base('cuda'), key), key), 'ok')
  }
})

test('keys change: two are taken at once, the old one no longer', (t) => {
  const [old, next] = [host, authenticateEnvelope(host, NEXT)]
  t.deepEqual([verdict(old, KEY, NEXT), verdict(next, KEY, NEXT), verdict(old, NEXT, KEY)], ['ok', 'ok', 'ok'])
  t.deepEqual([verdict(old, NEXT), verdict(next, NEXT), verdict(next, KEY)], ['unknown-key', 'ok', 'unknown-key'])
  const many = Array.from({ length: MAX_KEYS }, (_, i) => ({ id: 100 + i, key: new Uint8Array(20).fill(i) }))
  for (const key of many) t.is(verdict(authenticateEnvelope(host, key), ...many), 'ok')
  t.is(verdict(authenticateEnvelope(host, { ...many[3]!, id: 104 }), ...many), 'bad-tag')
})

test('what is required, with keys and without', (t) => {
  const rows: [Uint8Array, Policy, VerdictName][] = [
    [base('host'), {}, 'ok'], [base('host'), { requireAuthentication: true }, 'unauthenticated'],
    [base('host'), { keys: [KEY] }, 'unauthenticated'], [base('host'), { keys: [KEY], requireAuthentication: true }, 'unauthenticated'],
    [host, {}, 'ok'], [host, { requireAuthentication: false }, 'ok'], [host, { requireAuthentication: true }, 'unknown-key'],
    [host, { keys: [KEY] }, 'ok'], [host, { keys: [KEY], requireAuthentication: true }, 'ok'], [host, { keys: [NEXT], requireAuthentication: true }, 'unknown-key'],
    [host, { keys: [OTHER] }, 'bad-tag'],
  ]
  for (const [bytes, policy, why] of rows) t.is(validate(bytes, policy), why)
})

test('authentication comes before every other expectation, and after the structure', (t) => {
  const others: [Policy, VerdictName][] = [
    [{ now: EXPIRES }, 'expired'], [{ now: CREATED - 1 }, 'not-yet-valid'], [{ kind: 'event' }, 'wrong-kind'], [{ backend: 'cuda' }, 'wrong-backend'],
    [{ device: new Uint8Array(16) }, 'wrong-device'], [{ nbytes: Number.MAX_SAFE_INTEGER }, 'nbytes-beyond-range'],
  ]
  for (const [policy, why] of others) {
    t.is(validate(host, { ...policy, keys: [KEY] }), why)
    t.is(validate(host, { ...policy, keys: [OTHER] }), 'bad-tag')
    t.is(validate(host, { ...policy, keys: [NEXT] }), 'unknown-key')
    t.is(validate(host, { ...policy, requireAuthentication: true }), 'unknown-key')
    t.is(validate(base('host'), { ...policy, keys: [KEY] }), 'unauthenticated')
  }
  const empty = forged(base('host'), (v) => v.setBigUint64(HEADER.nbytes, 0n, true))
  t.is(verdict(authenticated(empty, KEY), KEY), 'zero-nbytes')
  t.is(verdict(authenticated(empty, OTHER), KEY), 'zero-nbytes')
})

test('inspect says whether the tag was checked', (t) => {
  const authenticity = (bytes: Uint8Array, policy?: Policy): string | undefined =>
    inspect(bytes, policy && { policy }).unchecked.find((item) => item.startsWith('authenticity'))
  t.is(authenticity(base('host')), 'authenticity: there is no tag; anybody could have made these bytes')
  t.is(authenticity(host), 'authenticity: authenticated with key 7, not checked; no keys were given')
  t.is(authenticity(host, { now: CREATED }), 'authenticity: authenticated with key 7, not checked; no keys were given')
  t.is(authenticity(host, { keys: [NEXT, KEY] }), undefined)
  t.is(inspect(base('host')).authentication, undefined)
  t.deepEqual(inspect(host).authentication, { keyId: 7, checked: false })
  t.deepEqual(inspect(host, { policy: { keys: [KEY] } }).authentication, { keyId: 7, checked: true })
  t.like(inspect(host, { policy: { keys: [OTHER] } }), { verdict: 'bad-tag', byteOffset: host.length - 32, authentication: undefined })
})

test('batches are checked under keys', (t) => {
  const parts = [host, base('host'), authenticateEnvelope(host, NEXT), authenticateEnvelope(host, OTHER), host.with(60, 1)]
  const many = Array.from({ length: 3000 }, (_, i) => parts[i % parts.length]!)
  const bytes = new Uint8Array(Buffer.concat(many))
  let at = 0
  const spans = Uint32Array.from(many.flatMap((one) => [(at += one.length) - one.length, one.length]))
  const got = core.validateBatch(bytes, spans, { keys: [KEY] })
  const wanted = ['ok', 'unauthenticated', 'unknown-key', 'bad-tag', 'bad-checksum']
  t.true(got.every((code, i) => VERDICTS[code] === wanted[i % wanted.length]))
})
