import { HEADER, type LayoutName } from '../../../../host/core/index.ts'
import { HANDLE_AT, sectionAt } from '../base.ts'
import { HEADER_LENGTH, fixCrc } from '../forge.ts'
import { both, flip, u16, u32, u64, u8, type Case } from './case.ts'

const at = (type: number, layout: LayoutName = 'host'): number => sectionAt(layout, type)
const [HANDLE, FURTHER, DESCRIPTORS, ARRAY, NAME, UNKNOWN] = [1, 2, 3, 4, 5, 6] as const
const HOST = HEADER_LENGTH
/** Of a further handle. */
const EVENT = 1
const bytes = (type: number, layout: LayoutName = 'host'): number => at(type, layout) + 8

/** Rules that hold for every section, here broken in one each. */
export const sections: Case[] = [
  ...[HANDLE, DESCRIPTORS, NAME].flatMap((section): Case[] => [
    { rule: 'S1', verdict: 'bad-check-byte', at: at(section) + 3, section, after: (b) => fixCrc(flip(() => at(section) + 3)(b)) },
    { rule: 'S1', verdict: 'bad-check-byte', at: at(section) + 3, section, after: (b) => fixCrc(flip(() => at(section) + 4)(b)) },
    { rule: 'S2', verdict: 'section-truncated', at: at(section) + 4, section, change: u32(at(section) + 4, 0xffff_ffff) },
    { rule: 'S3', verdict: 'bad-section-flags', at: at(section) + 2, section, change: u8(at(section) + 2, 2) },
    { rule: 'S3', verdict: 'bad-section-flags', at: at(section) + 2, section, change: u8(at(section) + 2, 0x81) },
    { rule: 'S4', verdict: 'section-order', at: at(section), section, change: u16(at(section), 0) },
    { rule: 'S6', verdict: 'bad-section-flags', at: at(section) + 2, section, change: u8(at(section) + 2, section === NAME ? 1 : 0) },
  ]),
  { rule: 'S2', verdict: 'section-truncated', at: at(UNKNOWN) + 4, section: UNKNOWN, change: u32(at(UNKNOWN) + 4, 9) },
  { rule: 'S4', verdict: 'section-order', at: at(FURTHER), section: FURTHER, change: u16(at(FURTHER), HANDLE) },
  { rule: 'S4', verdict: 'section-order', at: at(NAME), section: NAME, change: u16(at(NAME), DESCRIPTORS) },
  { rule: 'S5', verdict: 'section-padding', at: bytes(NAME) + 7, section: NAME, change: u8(bytes(NAME) + 7, 1) },
  { rule: 'S5', verdict: 'section-padding', at: bytes(UNKNOWN) + 5, section: UNKNOWN, change: u8(bytes(UNKNOWN) + 7, 0x80) },
  { rule: 'S6', verdict: 'bad-section-flags', at: at(FURTHER) + 2, section: FURTHER, change: u8(at(FURTHER) + 2, 0) },
  { rule: 'S6', verdict: 'bad-section-flags', at: at(ARRAY) + 2, section: ARRAY, change: u8(at(ARRAY) + 2, 1) },
  { rule: 'S8', verdict: 'unknown-critical-section', at: at(UNKNOWN), section: UNKNOWN, change: u8(at(UNKNOWN) + 2, 1) },
  { rule: 'E1', verdict: 'section-count', at: HEADER.section_count, change: u16(HEADER.section_count, 5) },
  { rule: 'E1', verdict: 'section-count', at: HEADER.section_count, change: u16(HEADER.section_count, 7) },
  { rule: 'E2', verdict: 'missing-handle', at: HEADER_LENGTH, alone: true, change: (v, b) => without(v, b, HANDLE) },
  { rule: 'E2', verdict: 'missing-handle', at: HEADER_LENGTH, alone: true, change: bare },
  { rule: 'E3', verdict: 'missing-descriptor-entry', at: HANDLE_AT, alone: true, change: (v, b) => without(v, b, DESCRIPTORS) },
  { rule: 'E3', verdict: 'missing-descriptor-entry', at: at(DESCRIPTORS), alone: true, change: twoEntries },
  { rule: 'E4', verdict: 'missing-descriptor-entry', at: bytes(DESCRIPTORS), change: u32(bytes(DESCRIPTORS), 2) },
  ...(['cuda-vmm', 'cuda-pool'] as const).flatMap((layout): Case[] => {
    const entries = bytes(DESCRIPTORS, layout)
    const identified = (kind: number): Case['change'] & {} => both(u32(entries, kind), u64(entries + 8, 1n))
    return [
      { rule: 'E3', verdict: 'missing-descriptor-entry', at: HANDLE_AT, layout, alone: true, change: (v, b) => without(v, b, DESCRIPTORS, layout) },
      { rule: 'E3', verdict: 'missing-descriptor-entry', at: entries - 8, layout, alone: true, change: (v, b) => twoEntries(v, b, layout) },
      { rule: 'E4', verdict: 'missing-descriptor-entry', at: entries, layout, change: identified(1) },
      { rule: 'E4', verdict: 'missing-descriptor-entry', at: entries, layout, change: identified(2) },
    ]
  }),
  { rule: 'E5', verdict: 'handle-disagrees', at: HOST + 8, change: u64(bytes(DESCRIPTORS) + 8, 0x32n) },
  { rule: 'E6', verdict: 'handle-disagrees', at: HOST + 16, change: u64(bytes(DESCRIPTORS) + 16, 0x1235n) },
]

// Cases of one type's bytes: the rule, the byte that the verdict names (from the section's bytes on), the change.
const body = (section: number, verdict: Case['verdict']) => (rule: string, from: number, change: Case['change'] & {}): Case => ({
  rule, verdict, at: bytes(section) + from, section, change,
})
const further = body(FURTHER, 'bad-further-handle')
const descriptors = body(DESCRIPTORS, 'bad-descriptor-entry')
const array = body(ARRAY, 'bad-array')
const name = body(NAME, 'bad-name')

/** Rules of the bytes of one type of section. */
export const bodies: Case[] = [
  { ...further('F1', 0, (v, b) => shortened(v, b, FURTHER, 8)), alone: true },
  { ...further('F1', 0, (v, b) => emptied(v, b, FURTHER)), alone: true },
  further('F1', 0, u32(bytes(FURTHER), 0)),
  further('F1', 0, u32(bytes(FURTHER) + 4, 1)),
  further('F2', 0, u32(bytes(FURTHER), EVENT)),
  ...[1, 63, 65, 128].map((length): Case => ({ ...further('F2', 0, (v, b) => events(v, b, length)), alone: true })),
  { ...further('F3', 8 + 8 + 64, (v, b) => events(v, b, 64, 64)), alone: true },
  { ...descriptors('D1', 0, (v, b) => emptied(v, b, DESCRIPTORS)), alone: true },
  { ...descriptors('D1', 0, manyEntries), alone: true },
  descriptors('D1', 0, (v, b) => shortened(v, b, DESCRIPTORS, 23)),
  ...[0, 4, 0xffff_ffff].map((kind) => descriptors('D2', 0, u32(bytes(DESCRIPTORS), kind))),
  descriptors('D3', 4, u32(bytes(DESCRIPTORS) + 4, 1)),
  descriptors('D4', 8, u32(bytes(DESCRIPTORS), 3)),
  descriptors('D4', 8, both(u64(bytes(DESCRIPTORS) + 8, 0n), u64(bytes(DESCRIPTORS) + 16, 0n))),
  { ...array('A1', 0, (v, b) => shortened(v, b, ARRAY, 8, 40)), alone: true },
  array('A2', 0, u8(bytes(ARRAY), 18)),
  array('A2', 0, u8(bytes(ARRAY) + 1, 0)),
  array('A2', 0, u16(bytes(ARRAY) + 2, 0)),
  ...[1, 3, 33, 0xffff_ffff, 0x1000_0002].map((ndim) => array('A3', 4, u32(bytes(ARRAY) + 4, ndim))),
  array('A4', 8, u8(bytes(ARRAY) + 15, 1)),
  array('A5', 16, u64(bytes(ARRAY) + 16, 2n ** 64n - 1n)),
  { ...array('A5', 32, u64(bytes(ARRAY) + 40, 2n ** 63n)), alone: true },
  { ...array('A5', 32, u64(bytes(ARRAY) + 32, 2n ** 62n)), alone: true },
  array('A5', 16, both(u64(bytes(ARRAY) + 16, 2n ** 64n - 1n), u64(bytes(ARRAY) + 24, 0n))),
  array('A5', 16, both(u64(bytes(ARRAY) + 16, 1n), u64(bytes(ARRAY) + 24, 2n ** 62n))),
  array('A5', 16, both(u64(bytes(ARRAY) + 16, 2n ** 62n), u64(bytes(ARRAY) + 24, 0n))),
  array('A6', 16, both(u64(bytes(ARRAY) + 16, 2n ** 32n + 1n), u64(bytes(ARRAY) + 24, 2n ** 32n))),
  array('A6', 16, both(u64(bytes(ARRAY) + 16, 2n ** 40n), u64(bytes(ARRAY) + 24, 2n ** 40n))),
  array('A6', 32, both(
    u64(bytes(ARRAY) + 16, 2n), u64(bytes(ARRAY) + 24, 2n ** 62n - 1n), u64(bytes(ARRAY) + 32, 3n), u64(bytes(ARRAY) + 40, 1n))),
  array('A7', 16, both(u64(bytes(ARRAY) + 16, 1n), u64(bytes(ARRAY) + 32, 2049n))),
  array('A7', 16, u64(bytes(ARRAY) + 24, 681n)),
  // A sum of exactly 2^62, in the second dimension.
  array('A7', 16, both(
    u64(bytes(ARRAY) + 16, 2n), u64(bytes(ARRAY) + 24, 2n ** 62n - 1n), u64(bytes(ARRAY) + 32, 2n), u64(bytes(ARRAY) + 40, 1n))),
  { ...name('N1', 0, (v, b) => emptied(v, b, NAME)), alone: true },
  { ...name('N1', 0, (v, b) => lengthenedName(v, b, 256)), alone: true },
  ...[0x00, 0x1f, 0x7f].map((control) => name('N2', 3, u8(bytes(NAME) + 3, control))),
  name('N2', 1, utf8(0xc2, 0x85)),
  name('N2', 0, utf8(0x80)),
  name('N2', 0, utf8(0xc1, 0xbf)),
  name('N2', 0, utf8(0xf5, 0x80, 0x80, 0x80)),
  name('N2', 1, utf8(0xe0, 0x9f, 0x80)),
  name('N2', 1, utf8(0xed, 0xa0, 0x80)),
  name('N2', 1, utf8(0xf0, 0x8f, 0x80, 0x80)),
  name('N2', 1, utf8(0xf4, 0x90, 0x80, 0x80)),
  name('N2', 2, utf8(0xe1, 0x80, 0xc0)),
  name('N2', 3, utf8(0xf1, 0x80, 0x80, 0x00)),
  name('N2', 6, u8(bytes(NAME) + 6, 0xc3)),
]

function utf8(...head: number[]) {
  return (_: DataView, b: Uint8Array): void => b.set(head, bytes(NAME))
}

// The envelope without the first section of a type.
function without(v: DataView, b: Uint8Array, type: number, layout: LayoutName = 'host'): Uint8Array {
  return spliced(v, b, at(type, layout), 8 + Math.ceil(v.getUint32(at(type, layout) + 4, true) / 8) * 8, new Uint8Array(0), -1)
}

// Events of these lengths instead of the further handle.
function events(v: DataView, b: Uint8Array, ...lengths: number[]): Uint8Array {
  const sections = lengths.flatMap((length) => {
    const section = new Uint8Array(8 + 8 + Math.ceil(length / 8) * 8)
    new Uint32Array(section.buffer).set([FURTHER | (1 << 16), 8 + length, EVENT])
    section.fill(0x66, 16, 16 + length)
    return [...section]
  })
  return spliced(v, b, at(FURTHER), 8 + sectionSize(FURTHER), Uint8Array.from(sections), lengths.length - 1)
}

// [at, at + length) replaced, the header's counts with it.
function spliced(v: DataView, b: Uint8Array, from: number, length: number, by: Uint8Array, sectionsMore: number): Uint8Array {
  const out = new Uint8Array([...b.subarray(0, from), ...by, ...b.subarray(from + length)])
  const o = new DataView(out.buffer)
  o.setUint32(HEADER.total_length, out.length, true)
  o.setUint16(HEADER.section_count, v.getUint16(HEADER.section_count, true) + sectionsMore, true)
  return out
}

// A header and a checksum, nothing between them.
function bare(v: DataView, b: Uint8Array): Uint8Array {
  return spliced(v, b, HEADER_LENGTH, b.length - 4 - HEADER_LENGTH, new Uint8Array(0), -6)
}

function emptied(v: DataView, b: Uint8Array, type: number): Uint8Array {
  v.setUint32(at(type) + 4, 0, true)
  return spliced(v, b, bytes(type), sectionSize(type), new Uint8Array(0), 0)
}

function sectionSize(type: number): number {
  return at(type + 1) - bytes(type)
}

// The section `by` bytes long, of which the last `drop` bytes of the old body go where they do not fit any more.
function shortened(v: DataView, b: Uint8Array, type: number, length: number, drop = sectionSize(type) - Math.ceil(length / 8) * 8): Uint8Array {
  v.setUint32(at(type) + 4, length, true)
  b.fill(0, bytes(type) + length, bytes(type) + Math.ceil(length / 8) * 8)
  return spliced(v, b, bytes(type) + Math.ceil(length / 8) * 8, drop, new Uint8Array(0), 0)
}

function entry(): Uint8Array {
  const e = new Uint8Array(24)
  e[0] = 1
  e[16] = 1
  return e
}

function twoEntries(v: DataView, b: Uint8Array, layout: LayoutName = 'host'): Uint8Array {
  v.setUint32(at(DESCRIPTORS, layout) + 4, 48, true)
  return spliced(v, b, bytes(DESCRIPTORS, layout) + 24, 0, entry(), 0)
}

function manyEntries(v: DataView, b: Uint8Array): Uint8Array {
  v.setUint32(at(DESCRIPTORS) + 4, 17 * 24, true)
  return spliced(v, b, bytes(DESCRIPTORS), 24, new Uint8Array(Array.from({ length: 17 }, entry).flatMap((e) => [...e])), 0)
}

function lengthenedName(v: DataView, b: Uint8Array, length: number): Uint8Array {
  v.setUint32(at(NAME) + 4, length, true)
  return spliced(v, b, bytes(NAME), 8, new Uint8Array(length).fill(0x61), 0)
}
