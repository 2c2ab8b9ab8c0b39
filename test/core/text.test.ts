import test from 'ava'
import fc from 'fast-check'
import { TEXT_PREFIX, decode, fromText, fromUuid, fromHex, seal, toHex, toText, toUuid } from '../../host/core/index.ts'
import { expected, plans } from './support/generate.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

test('the text form is the prefix and base64url without padding', (t) => {
  t.is(TEXT_PREFIX, 'usmipc0.')
  t.is(toText(new Uint8Array([1, 2, 3])), 'usmipc0.AQID')
  t.is(toText(new Uint8Array([0xfb, 0xff])), 'usmipc0.-_8')
  t.is(toText(new Uint8Array(0)), 'usmipc0.')
  fc.assert(fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
    t.is(toText(bytes), 'usmipc0.' + Buffer.from(bytes).toString('base64url'))
  }))
})

test('text gives the bytes back', (t) => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
    t.deepEqual(fromText(toText(bytes)), bytes)
  }))
  fc.assert(fc.property(plans(), (p) => {
    t.deepEqual(decode(fromText(toText(seal(p.header, p.sections)))!), expected(p))
  }))
})

test('every text has one spelling: whatever parses is what would be written', (t) => {
  const body = fc.string({ unit: fc.constantFrom(...ALPHABET, '=', '+', '/', ' ', '\n', '.', 'é', '\u0000'), maxLength: 12 })
  const valid = fc.string({ unit: fc.constantFrom(...ALPHABET), maxLength: 12 })
  let parsed = 0
  fc.assert(fc.property(fc.oneof(body, valid), (text) => {
    const bytes = fromText(TEXT_PREFIX + text)
    if (bytes === undefined) return
    parsed++
    t.is(toText(bytes), TEXT_PREFIX + text)
  }), { numRuns: 3000 })
  t.true(parsed > 100)
})

test('every last character: exactly those without stray bits are taken', (t) => {
  for (const [body, step] of [['A', 16], ['AA', 4], ['AAA', 1]] as const) {
    const taken = [...ALPHABET].filter((last) => fromText(TEXT_PREFIX + body + last) !== undefined)
    t.deepEqual(taken, [...ALPHABET].filter((_, i) => i % step === 0))
  }
})

test('what is not a text form', (t) => {
  const good = toText(new Uint8Array([1, 2, 3, 4]))
  for (const bad of [
    '', 'usmipc0', 'USMIPC0.AQID', 'usmipc1.AQID', ' ' + good, good + ' ', good + '\n', good + '=', good + '==', good + 'A=', good.replace('.', ':'),
    TEXT_PREFIX + 'A', TEXT_PREFIX + 'AQIDA', TEXT_PREFIX + '+/+/', TEXT_PREFIX + 'AQ ID', TEXT_PREFIX + 'ＡＱＩＤ',
  ]) t.is(fromText(bad), undefined, JSON.stringify(bad))
})

test('hexadecimal and UUIDs', (t) => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
    t.is(toHex(bytes), Buffer.from(bytes).toString('hex'))
    t.deepEqual(fromHex(toHex(bytes)), bytes)
    t.deepEqual(fromHex(toHex(bytes).toUpperCase()), bytes)
  }))
  fc.assert(fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
    t.regex(toUuid(bytes), /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
    t.deepEqual(fromUuid(toUuid(bytes)), bytes)
  }))
  for (const bad of ['a', 'abc', '0g', '0x12', ' 12', '1 2 ']) t.is(fromHex(bad), undefined)
  for (const bad of ['', '00000000-0000-0000-0000-00000000000', '00000000000000000000000000000000', '{00000000-0000-0000-0000-000000000000}']) {
    t.is(fromUuid(bad), undefined)
  }
})

test('text that is longer than any envelope is refused at once', (t) => {
  t.is(fromText(TEXT_PREFIX + 'A'.repeat(50_000_000)), undefined)
})
