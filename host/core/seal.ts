import { HandleError, rangeError, typeError } from '../errors.ts'
import { keyRecord, type EnvelopeKey } from '../keys.ts'
import { checkOptions } from '../options.ts'
import { putKey } from './authenticate.ts'
import { MAX_ENVELOPE, type Core } from './core.ts'
import {
  BACKENDS, DESCRIPTOR_KINDS, HEADER, KINDS, LAYOUTS, MESSAGES, SECTIONS, VERDICTS,
  type BackendName, type DescriptorKindName, type KindName, type LayoutName,
} from './names.generated.ts'

/** A descriptor that must travel beside the envelope. */
export interface WantedDescriptor {
  kind: DescriptorKindName
  /** File identity; both 0 for `opaque`. */
  stDev: bigint
  stIno: bigint
}

/** Array metadata in DLPack's terms. */
export interface ArrayMetadata {
  /** DLPack 1.1 type code: 0 int, 1 uint, 2 float, 3 opaque, 4 bfloat, 5 complex, 6 bool, 7 to 17 floats of 8, 6 and 4 bits. */
  code: number
  bits: number
  lanes: number
  shape: readonly number[]
  /** In elements; row-major where it is left out. */
  strides?: readonly number[]
}

/** Everything in an envelope's header that its maker chooses. Sizes in bytes, times in milliseconds since 1970. */
export interface EnvelopeHeader {
  kind: KindName
  backend: BackendName
  layout: LayoutName
  /** 16 bytes */
  deviceUuid: Uint8Array
  allocationSize: number
  offset: number
  nbytes: number
  /** 16 bytes: 64 random bits and a counter. */
  allocationId: Uint8Array
  pid: number
  startTime: bigint
  pidNamespace: bigint
  /** 16 bytes */
  bootId: Uint8Array
  created: number
  /** 0: never */
  expires: number
  /** 16 bytes */
  nonce: Uint8Array
}

export interface EnvelopeSections {
  handle: Uint8Array
  /** role (from 1: FURTHER_ROLES has those that are known) and bytes of handles beside the first. */
  further?: readonly { role: number; bytes: Uint8Array }[]
  descriptors?: readonly WantedDescriptor[]
  array?: ArrayMetadata
  name?: string
  /** Sections of a type above those of this version, in ascending order. */
  unknown?: readonly { type: number; critical: boolean; bytes: Uint8Array }[]
}

export interface SealOptions {
  /** The envelope gets a tag that this key makes. */
  key?: EnvelopeKey
}

/**
 * An envelope around a vendor handle. What it returns has passed every rule of the core.
 *
 * @throws HandleError with the verdict of the first rule that the fields break
 */
export function sealWith(core: Core, header: EnvelopeHeader, sections: EnvelopeSections, options: SealOptions = {}): Uint8Array {
  // Reading what the caller gave can run the caller's code, which may seal as well: all of it before this one is begun.
  checkOptions(sections, ['handle', 'further', 'descriptors', 'array', 'name', 'unknown'], 'seal: sections')
  checkOptions(header, HEADER_NAMES, 'seal: header')
  checkOptions(options, ['key'], 'seal')
  const { handle, further = [], descriptors, array, name, unknown = [] } = sections
  const parts: [type: number, flags: number, bytes: Uint8Array][] = [[SECTIONS.handle, 1, handle]]
  for (const { role, bytes } of further) parts.push([SECTIONS['further-handle'], 1, furtherBytes(role, bytes)])
  if (descriptors !== undefined) parts.push([SECTIONS.descriptors, 1, descriptorBytes(descriptors)])
  if (array !== undefined) parts.push([SECTIONS.array, 0, arrayBytes(array)])
  if (name !== undefined) parts.push([SECTIONS.name, 0, nameBytes(name)])
  for (const { type, critical, bytes } of unknown) parts.push([upTo(0xffff, type, 'section type'), critical ? 1 : 0, bytes])
  const copy = { ...header }
  const { key } = options
  const record = key === undefined ? undefined : keyRecord(key, 'seal: key')
  try {
    const sealer = new Sealer(core, copy)
    for (const [type, flags, bytes] of parts) sealer.section(type, flags, bytes)
    return sealer.end(record)
  } finally {
    record?.fill(0)
  }
}

const HEADER_NAMES: readonly (keyof EnvelopeHeader)[] = [
  'kind', 'backend', 'layout', 'deviceUuid', 'allocationSize', 'offset', 'nbytes', 'allocationId', 'pid', 'startTime', 'pidNamespace',
  'bootId', 'created', 'expires', 'nonce',
]
const U32 = 0xffff_ffff
const TOO_LONG = VERDICTS.indexOf('too-long')
const BUFFER_TOO_SMALL = VERDICTS.indexOf('buffer-too-small')

/** Builds one envelope at the core's seal region. */
export class Sealer {
  readonly #core: Core

  constructor(core: Core, h: EnvelopeHeader) {
    this.#core = core
    const at = core.sealAt
    core.exports.sealBegin(at, MAX_ENVELOPE)
    const u8 = core.u8
    const view = new DataView(u8.buffer, at, MAX_ENVELOPE)
    view.setUint8(HEADER.kind, KINDS[h.kind])
    view.setUint8(HEADER.backend, BACKENDS[h.backend])
    view.setUint16(HEADER.layout, LAYOUTS[h.layout], true)
    setBytes(u8, at + HEADER.device_uuid, h.deviceUuid, 'deviceUuid')
    setSize(view, HEADER.allocation_size, h.allocationSize, 'allocationSize')
    setSize(view, HEADER.offset, h.offset, 'offset')
    setSize(view, HEADER.nbytes, h.nbytes, 'nbytes')
    setBytes(u8, at + HEADER.allocation_random, h.allocationId, 'allocationId')
    view.setUint32(HEADER.pid, upTo(U32, h.pid, 'pid'), true)
    view.setBigUint64(HEADER.start_time, u64(h.startTime, 'startTime'), true)
    view.setBigUint64(HEADER.pid_namespace, u64(h.pidNamespace, 'pidNamespace'), true)
    setBytes(u8, at + HEADER.boot_id, h.bootId, 'bootId')
    setSize(view, HEADER.created, h.created, 'created')
    setSize(view, HEADER.expires, h.expires, 'expires')
    setBytes(u8, at + HEADER.nonce, h.nonce, 'nonce')
  }

  /** The layout's number, where it is known only after the header; before the first section. */
  layout(code: number): void {
    new DataView(this.#core.u8.buffer).setUint16(this.#core.sealAt + HEADER.layout, code, true)
  }

  /** Where the next section's bytes belong; what is written there is sealed by sectionInPlace. */
  get nextBytesAt(): number {
    const total = new DataView(this.#core.u8.buffer).getUint32(this.#core.sealAt + HEADER.total_length, true)
    return this.#core.sealAt + total + 8
  }

  sectionInPlace(type: number, flags: number, length: number): void {
    this.#refuse(this.#core.exports.sealSection(this.#core.sealAt, MAX_ENVELOPE, type, flags, this.nextBytesAt, length))
  }

  section(type: number, flags: number, bytes: Uint8Array): void {
    if (this.nextBytesAt + bytes.length > this.#core.sealAt + MAX_ENVELOPE) this.#refuse(TOO_LONG)
    this.#core.u8.set(bytes, this.nextBytesAt)
    this.sectionInPlace(type, flags, bytes.length)
  }

  /** A copy of the sealed envelope, with a tag where there is a key record. */
  end(key?: Uint8Array): Uint8Array {
    const { exports, sealAt } = this.#core
    const length = key === undefined ? exports.sealEnd(sealAt, MAX_ENVELOPE) : exports.sealEndAuthenticated(sealAt, MAX_ENVELOPE, putKey(this.#core, key))
    if (length < 0) this.#refuse(-length)
    return this.#core.u8.slice(this.#core.sealAt, this.#core.sealAt + length)
  }

  #refuse(code: number): void {
    if (code === BUFFER_TOO_SMALL) code = TOO_LONG // the buffer is as long as an envelope may be
    if (code !== 0) throw new HandleError(VERDICTS[code]!, `cannot seal this: ${MESSAGES[code]} (${VERDICTS[code]})`)
  }
}

function setBytes(u8: Uint8Array, at: number, bytes: Uint8Array, what: string): void {
  if (bytes.length !== 16) throw typeError('invalid-envelope', `${what} must be 16 bytes, not ${bytes.length}`)
  u8.set(bytes, at)
}

// What does not fit is refused here: a DataView would store its low bits.
function upTo(most: number, value: number, what: string): number {
  if (!Number.isSafeInteger(value) || value < 0 || value > most) {
    throw rangeError('invalid-envelope', `${what} must be an integer from 0 to ${most}, not ${value}`)
  }
  return value
}

function u64(value: bigint, what: string): bigint {
  if (BigInt.asUintN(64, value) !== value) throw rangeError('invalid-envelope', `${what} must be from 0 to 2^64-1, not ${value}`)
  return value
}

function setSize(view: DataView, at: number, value: number, what: string): void {
  upTo(Number.MAX_SAFE_INTEGER, value, what)
  view.setUint32(at, value >>> 0, true)
  view.setUint32(at + 4, Math.floor(value / 2 ** 32), true)
}

function furtherBytes(role: number, bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(8 + bytes.length)
  new DataView(out.buffer).setUint32(0, upTo(U32, role, 'role'), true)
  out.set(bytes, 8)
  return out
}

function descriptorBytes(wanted: readonly WantedDescriptor[]): Uint8Array {
  const out = new Uint8Array(24 * wanted.length)
  const view = new DataView(out.buffer)
  wanted.forEach(({ kind, stDev, stIno }, i) => {
    view.setUint32(24 * i, DESCRIPTOR_KINDS[kind], true)
    view.setBigUint64(24 * i + 8, u64(stDev, 'stDev'), true)
    view.setBigUint64(24 * i + 16, u64(stIno, 'stIno'), true)
  })
  return out
}

/** The bytes of a name section. */
export function nameBytes(name: unknown): Uint8Array {
  if (typeof name !== 'string') throw typeError('invalid-name', `name must be a string, not ${typeof name}`)
  if (!name.isWellFormed()) throw rangeError('invalid-name', 'name has a lone surrogate')
  return new TextEncoder().encode(name)
}

/** The bytes of an array section. */
export function arrayBytes(array: ArrayMetadata): Uint8Array {
  if (typeof array !== 'object' || array === null) throw typeError('invalid-array', 'array must be an object: { code, bits, lanes, shape, strides? }')
  checkOptions(array, ['code', 'bits', 'lanes', 'shape', 'strides'], 'array')
  const { code, bits, lanes, shape, strides } = array
  checkInteger(code, 'code', 0, 0xff)
  checkInteger(bits, 'bits', 0, 0xff)
  checkInteger(lanes, 'lanes', 0, 0xffff)
  const extents = integers(shape, 'shape')
  const steps = strides === undefined ? rowMajor(extents) : integers(strides, 'strides')
  if (steps.length !== extents.length) {
    throw rangeError('invalid-array', `strides has ${steps.length} entries, shape has ${extents.length}`)
  }
  const out = new Uint8Array(16 + 16 * extents.length)
  const view = new DataView(out.buffer)
  view.setUint8(0, code)
  view.setUint8(1, bits)
  view.setUint16(2, lanes, true)
  view.setUint32(4, extents.length, true)
  extents.forEach((extent, i) => {
    view.setBigInt64(16 + 16 * i, BigInt(extent), true)
    view.setBigInt64(24 + 16 * i, BigInt(steps[i]!), true)
  })
  return out
}

function checkInteger(value: unknown, what: string, least: number, most: number): void {
  if (typeof value !== 'number') throw typeError('invalid-array', `array.${what} must be a number, not ${typeof value}`)
  if (!Number.isInteger(value) || value < least || value > most) {
    throw rangeError('invalid-array', `array.${what} must be an integer from ${least} to ${most}, not ${value}`)
  }
}

function integers(values: readonly number[], what: string): number[] {
  if (!Array.isArray(values)) throw typeError('invalid-array', `array.${what} must be an array of numbers`)
  const copy = [...(values as readonly number[])]
  for (const value of copy) checkInteger(value, what, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
  return copy
}

function rowMajor(shape: readonly number[]): number[] {
  const strides = shape.map(() => 1)
  for (let i = shape.length - 2; i >= 0; i--) strides[i] = strides[i + 1]! * shape[i + 1]!
  return strides
}
