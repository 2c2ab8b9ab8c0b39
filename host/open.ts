/** The two ways in: an envelope, and a raw handle of somebody else's. */
import { checkNbytes, checkRange } from './arguments.ts'
import { fromUtf8, toUuid } from './core/bytes.ts'
import { VENDOR_UNCHECKED, checkVendor, openUnchecked } from './core/inspect.ts'
import { BACKENDS, HEADER, LAYOUTS, MESSAGES, SECTIONS, VERDICTS, type LayoutName } from './core/names.generated.ts'
import { descriptorSources, findDescriptor, type DescriptorOptions, type DescriptorSources, type Found } from './descriptor_search.ts'
import type { Device } from './device.ts'
import { environment } from './environment.ts'
import { HandleError, checked, fromNative, typeError } from './errors.ts'
import { PreparedPolicy } from './core/policy.ts'
import { keyRecords, type EnvelopeKey } from './keys.ts'
import { layoutTraits, type LayoutTraits } from './layouts.ts'
import { Held, type Claimed, type Described } from './held.ts'

export interface OpenOptions extends DescriptorOptions {
  /** The envelope's tag must be that of one of these keys, 1 to 16 with different ids; without a tag it is refused. */
  keys?: readonly EnvelopeKey[]
  /** Refuse envelopes without a tag, and tags that `keys` does not check. */
  requireAuthentication?: boolean
}

export interface OpenVendorOptions extends DescriptorOptions {
  /** What the bytes are. It is never guessed. */
  layout: LayoutName
  /**
   * Where the range begins, in bytes from the driver's base allocation. Where it is left out: what the handle itself says
   * (SYCL's do), else 0.
   */
  offset?: number
}

/** Clocks of one machine agree; this much is for a clock that was set while handles travelled. */
const CLOCK_SKEW = 60_000
/** Bytes behind an envelope's sections. */
const CHECKSUM = 4
const TAG = 32
const STALE = VERDICTS.indexOf('stale-handle')
const NEVER_ISSUED = VERDICTS.indexOf('never-issued')

const policies = new WeakMap<Device, PreparedPolicy>()

function policyOf(device: Device, requireAuthentication: boolean): PreparedPolicy {
  const policy = new PreparedPolicy({
    kind: 'memory', backend: device.backend, device: device.uuidBytes, clockSkew: CLOCK_SKEW, requireAuthentication,
  })
  if (!requireAuthentication) policies.set(device, policy)
  return policy
}

// The envelope's way: validated in the core, then opened from there.
export class EnvelopeOpening extends Held {
  readonly device: Device
  readonly nbytes: number
  readonly offset: number
  readonly readOnly: boolean
  override readonly description: Described | undefined
  readonly unchecked: readonly string[]
  readonly #sources: DescriptorSources
  readonly #traits: LayoutTraits

  constructor(bytes: Uint8Array, device: Device, nbytes: number | undefined, options: OpenOptions) {
    super()
    this.#sources = descriptorSources(options)
    const { requireAuthentication = false, keys } = options
    if (typeof requireAuthentication !== 'boolean') throw typeError('invalid-options', 'requireAuthentication must be true or false')
    const policy = requireAuthentication ? policyOf(device, true) : (policies.get(device) ?? policyOf(device, false))
    const { core } = environment()
    const records = keys === undefined ? undefined : keyRecords(keys, 'open: keys')
    const code = core.validateCode(bytes, policy.set(Date.now(), nbytes, records))
    if (code !== 0) throw withFacts(core.refusal(code), device)
    const at = core.inputAt
    const u8 = core.u8
    this.device = device
    this.nbytes = nbytes ?? size(u8, at + HEADER.nbytes)
    this.offset = size(u8, at + HEADER.offset)
    this.#traits = openable(u8[at + HEADER.layout]!)
    const handle = at + handleOffset(u8, at)
    this.readOnly = isReadOnly(u8, handle, this.#traits)
    this.description = describedIn(u8, at, handle)
    this.unchecked = openUnchecked(u32(u8, at + HEADER.key_id), records !== undefined)
  }

  acquire(holder: object): Claimed {
    const { core, native, books } = environment()
    const at = core.inputAt
    const id = at + HEADER.allocation_random
    const status = core.exports.ledgerStatus(id)
    if (status === STALE || status === NEVER_ISSUED) throw new HandleError(VERDICTS[status]!, MESSAGES[status]!, HEADER.allocation_random)
    const u8 = core.u8
    const handle = at + handleOffset(u8, at)
    const entryAt = sectionAt(SECTIONS.descriptors, u8, at, handle)
    const wanted = { traits: this.#traits, handleAt: handle, envelopeAt: at, entryAt }
    const found = findDescriptor(this.#sources, wanted, status === 0)
    const open = (descriptor: Found | undefined): number => {
      try {
        return native.open(
          this.device.backendIndex, this.device.index, u8[at + HEADER.layout]!, u8, handle, u32(u8, handle - 4), id,
          size(u8, at + HEADER.allocation_size), entryAt, descriptor?.claim ?? 0, holder,
        )
      } finally {
        descriptor?.done()
      }
    }
    let claim: number
    try {
      claim = open(found)
    } catch (error) {
      // That the id is open here was a hint: it may be somebody else's memory under the same id, or collected since.
      const more = isMissing(error) && found === undefined ? findDescriptor(this.#sources, wanted, false) : undefined
      if (more === undefined) throw fromNative(error)
      claim = checked(() => open(more))
    }
    return { claim, record: books.add('mapping', id, this.nbytes, claim) }
  }
}

// The raw handle's way: its structure is all that can be checked, and it gets an allocation id of its own.
export class VendorOpening extends Held {
  readonly device: Device
  readonly nbytes: number
  readonly offset: number
  readonly readOnly: boolean
  readonly unchecked: readonly string[]
  readonly #length: number
  readonly #size: number
  readonly #sources: DescriptorSources
  readonly #traits: LayoutTraits

  constructor(raw: Uint8Array, device: Device, nbytes: number, options: OpenVendorOptions) {
    super()
    this.#sources = descriptorSources(options)
    const { layout, offset } = options
    const { core } = environment()
    const code = checkVendor(core, raw, layout)
    if (code !== 0) throw withLengths(core.refusal(code), raw, layout)
    if (core.exports.layoutBackendOf(LAYOUTS[layout]) !== BACKENDS[device.backend]) {
      throw new HandleError('wrong-backend', `a ${layout} handle is not opened by a ${device.backend} device`)
    }
    this.#traits = openable(LAYOUTS[layout])
    if (this.#sources.allowPidfd && this.#traits.pid === undefined) {
      throw typeError('invalid-options', `openVendor: a raw ${layout} handle does not say whose it is, so allowPidfd cannot fetch its descriptor`)
    }
    const said = this.#traits.offset === undefined ? 0 : size(core.u8, core.inputAt + this.#traits.offset)
    const known = this.#traits.size === undefined ? undefined : size(core.u8, core.inputAt + this.#traits.size)
    this.offset = checkRange(offset ?? said, nbytes, known ?? Number.MAX_SAFE_INTEGER, 'openVendor')
    this.#size = known ?? checkNbytes(this.offset + nbytes)
    this.device = device
    this.nbytes = nbytes
    this.readOnly = isReadOnly(core.u8, core.inputAt, this.#traits)
    this.#length = raw.length
    this.unchecked = [
      ...VENDOR_UNCHECKED,
      ...(layout === 'host' ? [] : [DESCRIPTOR_UNCHECKED]),
      ...(this.#sources.allowPidfd ? [EXPORTER_UNCHECKED] : []),
    ]
  }

  acquire(holder: object): Claimed {
    const { core, native, books } = environment()
    const handleAt = core.inputAt
    const found = findDescriptor(this.#sources, { traits: this.#traits, handleAt, envelopeAt: -1, entryAt: -1 }, false)
    let claim: number
    try {
      claim = native.open(
        this.device.backendIndex, this.device.index, LAYOUTS[this.#traits.name], core.u8, handleAt, this.#length, -1, this.#size, -1,
        found?.claim ?? 0, holder,
      )
    } catch (error) {
      throw fromNative(error)
    } finally {
      found?.done()
    }
    books.ledger.nextId(core.scratchAt)
    return { claim, record: books.add('mapping', core.scratchAt, this.nbytes, claim) }
  }
}

// What the envelope says, where the verdict alone leaves the question which one, or how much.
function withFacts(refusal: HandleError, device: Device): HandleError {
  const { core } = environment()
  const [at, u8] = [core.inputAt, core.u8]
  const say = (fact: string): HandleError => new HandleError(refusal.verdict, `${refusal.message}: ${fact}`, refusal.byteOffset)
  switch (refusal.verdict) {
    case 'wrong-backend': {
      const named = (Object.keys(BACKENDS) as (keyof typeof BACKENDS)[]).find((name) => BACKENDS[name] === u8[at + HEADER.backend])
      return say(`it is for ${named}, this device is ${device.selector}`)
    }
    case 'wrong-device':
      return say(`it is for ${toUuid(u8.slice(at + HEADER.device_uuid, at + HEADER.device_uuid + 16))}, ${device.selector} is ${device.uuid}`)
    case 'nbytes-beyond-range':
      return say(`it shares ${size(u8, at + HEADER.nbytes)} bytes`)
    default:
      return refusal
  }
}

function withLengths(refusal: HandleError, raw: Uint8Array, layout: LayoutName): HandleError {
  if (refusal.verdict !== 'bad-handle-length') return refusal
  const length = layoutTraits(LAYOUTS[layout])?.length
  const isEnvelope = environment().core.validateCode(raw) === 0
  const fact = isEnvelope ? 'these are an envelope: use IPCMemoryHandle.open' : length === undefined ? '' : `${layout} has ${length} bytes`
  return new HandleError(refusal.verdict, `${refusal.message}: ${raw.length} bytes were given${fact && `; ${fact}`}`, refusal.byteOffset)
}

const DESCRIPTOR_UNCHECKED = 'the descriptor: that it is the exported memory; a raw handle names a number, not a file'
const EXPORTER_UNCHECKED = 'the exporter: a raw handle says its pid, which another process may have by now'

function isMissing(error: unknown): boolean {
  return (error as { reason?: string }).reason === 'descriptor-missing'
}

function openable(code: number): LayoutTraits {
  const traits = layoutTraits(code)
  if (traits === undefined) throw new HandleError('wrong-backend', 'no backend of this version opens handles of that layout')
  return traits
}

function isReadOnly(u8: Uint8Array, handleAt: number, { flags }: LayoutTraits): boolean {
  return flags !== undefined && (u8[handleAt + flags]! & 1) === 1
}

// Where the bytes of a section are, -1 without one. Sections ascend by type; checksum and tag follow the last.
function sectionAt(type: number, u8: Uint8Array, at: number, handle: number): number {
  const isAuthenticated = (u8[at + HEADER.flags]! & 1) === 1
  const end = at + u32(u8, at + HEADER.total_length) - (isAuthenticated ? CHECKSUM + TAG : CHECKSUM)
  let section = handle - 8
  while (section < end && u16(u8, section) < type) section += 8 + ((u32(u8, section + 4) + 7) & ~7)
  return section < end && u16(u8, section) === type ? section + 8 : -1
}

// What the exporter says that the range is. Copied: the core's input is another one's after the next call.
function describedIn(u8: Uint8Array, at: number, handle: number): Described | undefined {
  const name = sectionAt(SECTIONS.name, u8, at, handle)
  const array = sectionAt(SECTIONS.array, u8, at, handle)
  if (name < 0 && array < 0) return undefined
  const bytes = (from: number): Uint8Array | undefined => (from < 0 ? undefined : u8.slice(from, from + u32(u8, from - 4)))
  return { name: name < 0 ? undefined : fromUtf8(bytes(name)!), array: bytes(array) }
}

// A valid envelope's first section is its handle: sections ascend by type.
function handleOffset(u8: Uint8Array, at: number): number {
  return (u8[at + HEADER.header_length]! | (u8[at + HEADER.header_length + 1]! << 8)) + 8
}

function u16(u8: Uint8Array, at: number): number {
  return u8[at]! | (u8[at + 1]! << 8)
}

function u32(u8: Uint8Array, at: number): number {
  return (u8[at]! | (u8[at + 1]! << 8) | (u8[at + 2]! << 16) | (u8[at + 3]! << 24)) >>> 0
}

// The core has checked that it is below 2^53.
function size(u8: Uint8Array, at: number): number {
  return u32(u8, at) + u32(u8, at + 4) * 2 ** 32
}
