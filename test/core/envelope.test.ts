import test from 'ava'
import fc from 'fast-check'
import { Core, HEADER, decode, inspect, seal } from '../../host/core/index.ts'
import { baseHeader, leastSections } from './support/base.ts'
import { coverFault } from './support/cover.ts'
import { checksummedFlips, plainFlips, truncations, type FlipResult } from './support/flips.ts'
import { forged, lengthened, sectionsOf, withSection } from './support/forge.ts'
import { LAYOUT_NAMES, expected, plan, plans } from './support/generate.ts'
import { Random, fromFastCheck } from './support/source.ts'

const core = new Core()

const ENVELOPES = 1000

/** Sealed plans of one seed; every fourth as a later minor version with a longer header would have it. */
function* envelopes(seed: number, count = ENVELOPES): Generator<Uint8Array> {
  const random = new Random(seed)
  for (let i = 0; i < count; i++) {
    const { header, sections } = plan(random)
    const bytes = seal(header, sections)
    yield i % 4 === 3 ? lengthened(bytes, random.int(1, 255), random.bytes(8 * random.int(0, 4))) : bytes
  }
}

test('what was sealed is what is decoded', (t) => {
  const seen = new Set<string>()
  fc.assert(fc.property(plans(), (p) => {
    seen.add(p.header.layout)
    t.deepEqual(decode(seal(p.header, p.sections)), expected(p))
  }), { numRuns: 1000 })
  t.is(seen.size, LAYOUT_NAMES.length)
})

test('what was sealed is what is decoded, in bulk', (t) => {
  const random = new Random(1)
  for (let i = 0; i < 5000; i++) {
    const p = plan(random)
    const got = decode(seal(p.header, p.sections))
    if (JSON.stringify(got, plain) !== JSON.stringify(expected(p), plain)) t.deepEqual(got, expected(p), `envelope ${i}`)
  }
  t.pass()
})

function plain(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value instanceof Uint8Array ? [...value] : value
}

test('an envelope that was decoded seals to the same bytes', (t) => {
  fc.assert(fc.property(plans(), (p) => {
    const once = seal(p.header, p.sections)
    const { array, name, further, unknown } = decode(once)
    const sections = { ...p.sections, further, unknown: unknown.map((u) => ({ ...u, critical: false })) }
    if (array !== undefined) sections.array = { ...array, shape: array.shape.map(Number), strides: array.strides.map(Number) }
    if (name !== undefined) sections.name = name
    t.deepEqual(seal(p.header, sections), once)
  }), { numRuns: 200 })
})

test('fields cover every byte once', (t) => {
  for (const bytes of envelopes(2)) t.is(coverFault(inspect(bytes).fields, bytes.length), undefined)
})

test('fields of damaged envelopes cover every byte once', (t) => {
  fc.assert(fc.property(plans(), fc.gen(), (p, gen) => {
    const from = fromFastCheck(gen)
    const bytes = seal(p.header, p.sections)
    const damaged = bytes.slice(0, from.int(1, bytes.length))
    for (let i = from.int(0, 4); i > 0; i--) damaged[from.int(0, damaged.length - 1)] = from.int(0, 255)
    t.is(coverFault(inspect(damaged).fields, damaged.length), undefined)
  }))
})

function every(check: (core: Core, bytes: Uint8Array) => FlipResult, seed: number): { flips: number; faults: string[] } {
  let flips = 0
  const faults: string[] = []
  for (const bytes of envelopes(seed)) {
    const result = check(core, bytes)
    flips += result.flips
    if (result.fault !== undefined) faults.push(`${result.fault} of ${Buffer.from(bytes).toString('hex')}`)
  }
  return { flips, faults: faults.slice(0, 3) }
}

test('every single flipped bit is refused', (t) => {
  const { flips, faults } = every(plainFlips, 3)
  t.deepEqual(faults, [])
  t.true(flips > ENVELOPES * 8 * 200)
})

test('every truncation is refused as such', (t) => {
  t.deepEqual(every(truncations, 4).faults, [])
})

test('with the checksum put right, a flipped bit changes its own field or is refused by name', (t) => {
  let accepted = 0
  const { flips, faults } = every((core, bytes) => {
    const result = checksummedFlips(core, bytes)
    accepted += result.accepted
    return result
  }, 5)
  t.deepEqual(faults, [])
  t.true(accepted > flips / 4 && accepted < flips)
})

// A further handle whose bytes are sections themselves, placed where one flipped bit of the header length leads to.
test('a flipped header length cannot lead into bytes that look like sections', (t) => {
  for (const layout of LAYOUT_NAMES) {
    const [header, least] = [baseHeader(layout), leastSections(layout)]
    const two = sectionBytes(seal(header, { ...least, further: [{ role: 2, bytes: new Uint8Array(8) }] }), 2)
    const before = 8 + Math.ceil(least.handle.length / 8) * 8 + 16 // bytes between the header and the further handle's
    const lookalike = new Uint8Array(256 - before + two.length)
    lookalike.set(two, 256 - before)
    const bytes = lengthened(seal(header, { ...least, further: [{ role: 2, bytes: lookalike }] }), 1, new Uint8Array(0))
    t.is(core.validate(bytes), 'ok')
    t.is(checksummedFlips(core, bytes).fault, undefined, layout)
    // Were it not for the check byte, it would: with that put right too, the flipped bit is taken.
    t.is(core.validate(forged(bytes, (v) => v.setUint16(HEADER.header_length, 152 ^ 256, true))), 'ok', layout)
  }
})

/** The first sections of an envelope, as they stand. */
function sectionBytes(bytes: Uint8Array, count: number): Uint8Array {
  const { at, length } = sectionsOf(bytes)[count - 1]!
  return bytes.slice(152, at + 8 + Math.ceil(length / 8) * 8)
}

test('a level-zero handle of one form is not read as the other through one flipped bit', (t) => {
  for (const layout of LAYOUT_NAMES.filter((name) => name.includes('level-zero'))) {
    let seen = 0
    for (const random = new Random(7); seen < 300; ) {
      const p = plan(random)
      if (p.header.layout !== layout || p.header.pid > 65536) continue
      seen++
      t.is(checksummedFlips(core, seal(p.header, p.sections)).fault, undefined)
    }
  }
})

test('trailing bytes are refused, however many', (t) => {
  for (const bytes of envelopes(8, 200)) {
    for (const more of [1, 4, 8, 100, 20000]) {
      const longer = new Uint8Array(bytes.length + more)
      longer.set(bytes)
      const { verdict, byteOffset } = inspect(longer)
      t.is(verdict, 'trailing-bytes')
      t.is(byteOffset, bytes.length)
    }
  }
})

test('a later minor version decodes: a longer header, unknown optional sections', (t) => {
  fc.assert(fc.property(plans(), fc.integer({ min: 1, max: 255 }), fc.integer({ min: 0, max: 40 }), (p, minor, words) => {
    const bytes = lengthened(seal(p.header, p.sections), minor, new Uint8Array(8 * words).fill(0xa5))
    const later = withSection(bytes, 65535, 0, new Uint8Array([1, 2, 3]))
    const { unknown, ...rest } = decode(later)
    const { unknown: known, ...known0 } = expected(p, { major: 0, minor })
    t.deepEqual(rest, known0)
    t.deepEqual(unknown, [...known, { type: 65535, bytes: new Uint8Array([1, 2, 3]) }])
    const extension = inspect(later).fields.find((f) => f.name === 'header_extension')
    t.is(extension?.length ?? 0, 8 * words)
  }))
})

test('a later major version is of an unsupported version, whatever follows', (t) => {
  fc.assert(fc.property(plans(), fc.integer({ min: 1, max: 255 }), fc.uint8Array({ maxLength: 300 }), (p, major, tail) => {
    const bytes = forged(seal(p.header, p.sections), (v) => v.setUint8(6, major))
    t.is(inspect(bytes).verdict, 'unsupported-version')
    t.is(inspect(new Uint8Array([...bytes.subarray(0, 7), ...tail])).verdict, 'unsupported-version')
  }))
})

test('the longest envelope is sealed and decoded, one byte more is not', (t) => {
  const { header, sections } = plan(new Random(9))
  const only = { handle: sections.handle, ...(sections.descriptors && { descriptors: sections.descriptors }) }
  const bare = seal(header, only)
  const room = Math.floor((16384 - bare.length - 8) / 8) * 8
  const longest = (length: number): Uint8Array => seal(header, { ...only, unknown: [{ type: 6, critical: false, bytes: new Uint8Array(length) }] })
  const bytes = longest(room)
  t.true(bytes.length > 16376 && bytes.length <= 16384)
  t.is(decode(bytes).unknown[0]!.bytes.length, room)
  t.throws(() => longest(room + 1), { code: 'ERR_USM_IPC_TOO_LONG' })
  t.throws(() => longest(100000), { code: 'ERR_USM_IPC_TOO_LONG' })
})
