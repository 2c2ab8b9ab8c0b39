/** Damage that knows the structure, in place in the core's memory. */
import { HEADER, LAYOUTS, seal, type Core, type EnvelopeKey } from '../../../host/core/index.ts'
import { KEY_RECORD, MAX_KEYS, keyRecord } from '../../../host/keys.ts'
import { KEY, base } from './base.ts'
import { HEADER_LENGTH, authenticated, lengthened, sectionsOf } from './forge.ts'
import { LAYOUT_NAMES, plan } from './generate.ts'
import { Random } from './source.ts'

/** A valid envelope, and where its parts are. */
interface Template {
  bytes: Uint8Array
  layout: number
  /** Offset and length of each field, in turn. */
  fields: Uint16Array
  handleAt: number
  handleLength: number
}

const FIXED: readonly bigint[] = [
  0n, 1n, 2n, 0x7fn, 0xffn, 0x7fff_ffffn, 0x8000_0000n, 0xffff_ffffn, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n,
]
const OTHER_KEY: EnvelopeKey = { id: KEY.id + 1, key: new Uint8Array(16).fill(3) }
/** Inputs are no longer than this. */
export const LONGEST = 20000

export class Mutator {
  readonly random: Random
  readonly #templates: Template[]
  readonly #core: Core
  readonly #u8: Uint8Array
  readonly #view: DataView
  readonly #at: number
  /** Length of the input that lies at `core.inputAt`. */
  length = 0
  /** The layout that a raw handle is said to be of. */
  layout = 0

  constructor(core: Core, seed: number, templates = 400) {
    this.#core = core
    this.random = new Random(seed)
    this.#u8 = core.u8
    this.#view = new DataView(core.u8.buffer)
    this.#at = core.inputAt
    const bytes = [...LAYOUT_NAMES.map(base), ...LAYOUT_NAMES.map((layout) => authenticated(base(layout), KEY)), ...Array.from({ length: templates }, (_, i) => this.#sealed(i))]
    this.#templates = bytes.map((b) => this.#template(b))
  }

  /** An envelope, damaged or not: every check byte and the checksum right in most of them. */
  envelope(): void {
    const { random } = this
    const template = this.#load()
    const times = random.below(4)
    for (let i = 0; i < times; i++) this.#damage(template)
    if (random.below(8) !== 0) this.#u8[this.#at + HEADER.header_check] = this.#checkByte(this.#at + 8, 16, HEADER.header_check - 8)
    if (random.below(8) !== 0) this.#fixSections()
    if (random.below(5) !== 0) this.#fixCrc()
    if (random.below(4) === 0) this.#fixTag()
    if (random.below(16) === 0) this.#resize()
  }

  /** A raw vendor handle. */
  handle(): void {
    const { random } = this
    const template = random.below(this.#templates.length)
    const { bytes, layout, handleAt, handleLength } = this.#templates[template]!
    this.#u8.set(bytes.subarray(handleAt, handleAt + handleLength), this.#at)
    this.length = handleLength
    this.layout = random.below(16) === 0 ? random.below(16) : layout
    for (let i = random.below(3); i > 0; i--) {
      if (random.below(3) === 0) this.#flip()
      else this.#set(this.#at + 2 * random.below(handleLength >> 1), [1, 2, 4, 8][random.below(4)]!)
    }
    if (random.below(20) === 0) this.length = random.below(140)
  }

  /** Bytes of no structure, or of little. */
  noise(): void {
    const { random } = this
    this.length = random.below(2) === 0 ? random.below(64) : random.below(600)
    for (let i = 0; i < this.length; i++) this.#u8[this.#at + i] = random.u32() >>> 24
    if (random.below(2) === 0) return
    for (let i = 0; i < Math.min(6, this.length); i++) this.#u8[this.#at + i] = 'USMIPC'.charCodeAt(i)
    if (random.below(2) === 0 && this.length > 156) {
      this.#view.setUint16(this.#at + 6, 0)
      this.#view.setUint16(this.#at + HEADER.header_length, HEADER_LENGTH, true)
      this.#view.setUint32(this.#at + HEADER.total_length, this.length, true)
      this.#fixCrc()
    }
  }

  /** A policy block at `core.policyAt` that asks for what the input has, more or less. */
  policy(): void {
    const { random } = this
    const [p, v, at] = [this.#core.policyAt, this.#view, this.#at]
    this.#u8.fill(0, p, p + 64)
    v.setUint32(p, random.below(64), true)
    v.setUint8(p + 4, random.below(3) === 0 ? random.below(6) : this.#u8[at + HEADER.kind]!)
    v.setUint8(p + 5, random.below(3) === 0 ? random.below(6) : this.#u8[at + HEADER.backend]!)
    this.#copy(at + HEADER.created, p + 8, 8)
    if (random.below(2) === 0) this.#copy(at + HEADER.expires, p + 8, 8)
    if (random.below(2) === 0) this.#set(p + 8, 8)
    this.#copy(at + HEADER.nbytes, p + 16, 8)
    if (random.below(3) === 0) this.#set(p + 16, 8)
    this.#copy(at + HEADER.device_uuid, p + 24, 16)
    if (random.below(3) === 0) this.#u8[p + 24 + random.below(16)]! ^= 1 << random.below(8)
    if (random.below(3) === 0) this.#set(p + 40, 8)
    if (random.below(2) === 0) this.#keys()
    if (random.below(16) === 0) this.#u8[p + random.below(64)]! ^= 1 << random.below(8)
  }

  /** The span of the policy's keys that a call must wipe; undefined: there are none, or not inside the I/O region. */
  get keySpan(): [at: number, end: number] | undefined {
    const { policyAt, exports } = this.#core
    const at = this.#view.getUint32(policyAt + 48, true)
    const end = at + KEY_RECORD * this.#view.getUint32(policyAt + 52, true)
    const io = exports.ioAddress()
    return at >= io && end > at && end <= io + exports.ioSize() ? [at, end] : undefined
  }

  // The right key in most of them.
  #keys(): void {
    const { random } = this
    const [p, at] = [this.#core.policyAt, this.#core.keysAt]
    const count = 1 + random.below(3)
    const right = random.below(count)
    for (let i = 0; i < count; i++) {
      const key = i === right && random.below(8) !== 0 ? KEY : { ...OTHER_KEY, id: OTHER_KEY.id + i }
      this.#u8.set(keyRecord(key, 'key'), at + i * KEY_RECORD)
    }
    if (random.below(8) === 0) this.#u8[at + random.below(count * KEY_RECORD)]! ^= 1 << random.below(8)
    this.#view.setUint32(p + 48, random.below(64) === 0 ? random.u32() : at, true)
    this.#view.setUint32(p + 52, random.below(64) === 0 ? random.below(2 * MAX_KEYS) : count, true)
  }

  #sealed(i: number): Uint8Array {
    const { header, sections } = plan(this.random)
    const sealed = seal(header, sections)
    const bytes = i % 5 === 4 ? lengthened(sealed, 1 + this.random.below(255), this.random.bytes(8 * this.random.below(5))) : sealed
    return i % 3 === 0 ? authenticated(bytes, KEY) : bytes
  }

  #template(bytes: Uint8Array): Template {
    const { exports, listAt, listSize } = this.#core
    this.#u8.set(bytes, this.#at)
    const count = exports.describe(this.#at, bytes.length, listAt, listSize)
    const fields = new Uint16Array(2 * count)
    for (let i = 0; i < count; i++) {
      fields[2 * i] = this.#view.getUint32(listAt + 24 * i, true)
      fields[2 * i + 1] = this.#view.getUint32(listAt + 24 * i + 4, true)
    }
    const [handle] = sectionsOf(bytes)
    return {
      bytes, fields, layout: bytes[HEADER.layout]!, handleAt: handle!.at + 8, handleLength: handle!.length,
    }
  }

  #load(): Template {
    const template = this.#templates[this.random.below(this.#templates.length)]!
    this.#u8.set(template.bytes, this.#at)
    this.length = template.bytes.length
    return template
  }

  #damage(template: Template): void {
    const { random } = this
    const kind = random.below(16)
    if (kind < 3) this.#flip()
    else if (kind < 4) this.#u8[this.#at + random.below(this.length)] = random.u32() >>> 24
    else if (kind < 11) {
      const field = random.below(template.fields.length >> 1)
      this.#set(this.#at + template.fields[2 * field]!, template.fields[2 * field + 1]!)
    } else if (kind < 12) {
      // Another layout, so that everything behind it is of the wrong one.
      this.#u8[this.#at + HEADER.layout] = random.below(1 + Object.keys(LAYOUTS).length)
    } else this.#restructure()
  }

  #flip(): void {
    this.#u8[this.#at + this.random.below(this.length)]! ^= 1 << this.random.below(8)
  }

  // A value at a field's edge, one more or less, or the value of some other place.
  #set(at: number, length: number): void {
    const { random } = this
    const size = length >= 8 ? 8 : length >= 4 ? 4 : length >= 2 ? 2 : 1
    const shift = length > 8 ? random.below(length - 7) : 0
    const to = at + shift
    switch (random.below(4)) {
      case 0: {
        const value = this.#view.getBigUint64(to, true) + (random.below(2) === 0 ? 1n : -1n)
        this.#store(to, size, value)
        break
      }
      case 1:
        this.#copy(this.#at + random.below(Math.max(1, this.length - 8)), to, size)
        break
      default:
        this.#store(to, size, FIXED[random.below(FIXED.length)]!)
    }
  }

  #store(at: number, size: number, value: bigint): void {
    if (size === 8) this.#view.setBigUint64(at, value, true)
    else if (size === 4) this.#view.setUint32(at, Number(value & 0xffff_ffffn), true)
    else if (size === 2) this.#view.setUint16(at, Number(value & 0xffffn), true)
    else this.#u8[at] = Number(value & 0xffn)
  }

  #copy(from: number, to: number, length: number): void {
    this.#u8.copyWithin(to, from, from + length)
  }

  // Sections taken out, doubled, put in, emptied, or of another length.
  #restructure(): void {
    const { random } = this
    const sections = this.#sections()
    if (sections.length === 0) return
    const { at, whole } = sections[random.below(sections.length)]!
    const end = this.#at + this.length - this.#trailer
    let more = 0
    switch (random.below(6)) {
      case 0:
        this.#copyTail(at + whole, at, end)
        more = -whole
        break
      case 1:
        if (this.length + whole > LONGEST) return
        this.#copyTail(at, at + whole, end)
        more = whole
        break
      case 2: {
        const size = 8 * random.below(4)
        if (this.length + 8 + size > LONGEST) return
        this.#copyTail(at, at + 8 + size, end)
        this.#view.setUint32(at, random.below(8), true)
        this.#u8[at + 2] = random.below(3)
        this.#view.setUint32(at + 4, Math.max(0, size - random.below(8)), true)
        more = 8 + size
        break
      }
      case 3:
        this.#view.setUint32(at + 4, random.below(whole + 16), true)
        return
      case 4:
        this.#view.setUint16(at, random.below(8), true)
        return
      default:
        this.#u8[at + 2] = random.below(3)
        return
    }
    // What is behind the sections is put right afterwards, or is wrong.
    this.length += more
    if (random.below(8) !== 0) this.#view.setUint32(this.#at + HEADER.total_length, this.length, true)
    if (random.below(4) !== 0) this.#view.setUint16(this.#at + HEADER.section_count, this.#sections().length, true)
  }

  #copyTail(from: number, to: number, end: number): void {
    this.#copy(from, to, Math.max(0, end - from))
  }

  #sections(): { at: number; whole: number }[] {
    const found: { at: number; whole: number }[] = []
    const end = this.#at + this.length - this.#trailer
    let at = this.#at + this.#view.getUint16(this.#at + HEADER.header_length, true)
    while (at + 8 <= end && found.length < 64) {
      const whole = 8 + Math.ceil(this.#view.getUint32(at + 4, true) / 8) * 8
      if (at + whole > end) break
      found.push({ at, whole })
      at += whole
    }
    return found
  }

  #fixSections(): void {
    const end = this.#at + this.length - this.#trailer
    let at = this.#at + this.#view.getUint16(this.#at + HEADER.header_length, true)
    for (let i = 0; at + 8 <= end && i < 64; i++) {
      this.#u8[at + 3] = this.#checkByte(at, 8, 3)
      at += 8 + Math.ceil(this.#view.getUint32(at + 4, true) / 8) * 8
    }
  }

  #checkByte(at: number, length: number, skip: number): number {
    let x = 0x55
    for (let i = 0; i < length; i++) if (i !== skip) x ^= this.#u8[at + i]!
    return x
  }

  get #trailer(): number {
    return this.length >= HEADER_LENGTH && (this.#u8[this.#at + HEADER.flags]! & 1) === 1 ? 36 : 4
  }

  get hasRightCrc(): boolean {
    const length = this.length - this.#trailer
    return length >= 0 && this.#view.getUint32(this.#at + length, true) === this.#core.exports.crc32c(this.#at, length) >>> 0
  }

  #fixCrc(): void {
    const length = this.length - this.#trailer
    if (length >= 0) this.#view.setUint32(this.#at + length, this.#core.exports.crc32c(this.#at, length), true)
  }

  // Where nothing else is wrong, of the key that policies mostly have.
  #fixTag(): void {
    if (this.#trailer === 4) return
    this.#u8.set(keyRecord(KEY, 'key'), this.#core.keysAt)
    this.#core.exports.authenticate(this.#at, this.length, this.#core.keysAt)
  }

  #resize(): void {
    const { random } = this
    if (random.below(2) === 0) this.length = random.below(this.length + 1)
    else this.length = Math.min(LONGEST, this.length + random.below(random.below(8) === 0 ? LONGEST : 32))
  }
}
