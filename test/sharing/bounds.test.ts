/** Frames are measured before they are decoded. */
import { decode, encode } from '@msgpack/msgpack'
import fc from 'fast-check'
import test from 'ava'
import { isBounded } from '../../host/sharing/bounds.ts'

const levels = 10
const data = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 }, fc.integer(), fc.double(), fc.string({ maxLength: 300 }), fc.boolean(), fc.constant(null), fc.uint8Array({ maxLength: 300 }),
    fc.array(tie('value'), { maxLength: 20 }), fc.dictionary(fc.string({ maxLength: 8 }).filter((name) => name !== '__proto__'), tie('value'), { maxKeys: 20 }),
  ),
})).value

test('what an encoder writes is bounded; less or more of it is not', (t) => {
  fc.assert(fc.property(data, fc.nat(), (value, cut) => {
    const bytes = encode(value)
    t.true(isBounded(bytes, levels))
    t.false(isBounded(bytes.subarray(0, cut % bytes.length), levels))
    t.false(isBounded(Uint8Array.of(...bytes, 0xc0), levels))
  }), { numRuns: 500 })
})

test('what is bounded is decoded, whatever the bytes', (t) => {
  let bounded = 0
  fc.assert(fc.property(data, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }), (value, changes) => {
    const bytes = encode(value)
    for (const [at, byte] of changes) bytes[at % bytes.length] = byte
    if (!isBounded(bytes, levels)) return
    bounded++
    try {
      decode(bytes)
    } catch (error) {
      // Of a well-formed value, only what a map's key may be.
      t.regex(String(error), /key|__proto__/i)
    }
  }), { numRuns: 2000 })
  t.true(bounded > 300)
})

test('lengths that are not there, levels and extension types are refused', (t) => {
  const nested = new Uint8Array(65_535)
  for (let i = 0; i < nested.length; i += 3) nested.set([0xdc, 0x10, 0x00], i)
  const huge = [[0xdd, 0xff, 0xff, 0xff, 0xff], [0xdf, 0xff, 0xff, 0xff, 0xff, 0xc0], [0xdb, 0x00, 0x00, 0x00, 0x02, 0x61], [0xc6, 0xff, 0xff, 0xff, 0xff], [0x92, 0xc0], [0x81, 0xa1, 0x61]]
  for (const bytes of [nested, ...huge.map((b) => Uint8Array.from(b))]) t.false(isBounded(bytes, 100_000))
  for (const head of [0xc1, 0xc7, 0xc8, 0xc9, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8]) t.false(isBounded(Uint8Array.of(head, ...new Uint8Array(32)), levels))
  t.false(isBounded(new Uint8Array(0), levels))
  const deep = (depth: number): Uint8Array => Uint8Array.of(...new Uint8Array(depth).fill(0x91), 0xc0)
  t.true(isBounded(deep(8), 8))
  t.false(isBounded(deep(9), 8))
})
