/** The two ways in: an envelope, and a raw handle of somebody else's. */
import { checkNbytes, checkRange } from './arguments.ts'
import { fromUtf8 } from './core/bytes.ts'
import { checkVendor } from './core/inspect.ts'
import { BACKENDS, FURTHER_ROLES, HEADER, LAYOUTS, MESSAGES, SECTIONS, VERDICTS, type LayoutName } from './core/names.generated.ts'
import { descriptorSources, findDescriptor, type DescriptorOptions, type DescriptorSources, type Found } from './descriptor_search.ts'
import type { Device } from './device.ts'
import { vendorUnchecked, openUnchecked } from './core/unchecked.ts'
import { environment } from './environment.ts'
import { HandleError, checked, fromNative, typeError } from './errors.ts'
import { size, u16, u32, validateFor } from './envelope.ts'
import { eventTimeout, waitForEvent } from './event_wait.ts'
import type { EnvelopeKey } from './keys.ts'
import { layoutTraits, type LayoutTraits } from './layouts.ts'
import { Held, type Claimed, type Described } from './held.ts'

export interface OpenOptions extends DescriptorOptions {
  /** The envelope's tag must be that of one of these keys, 1 to 16 with different ids; without a tag it is refused. */
  keys?: readonly EnvelopeKey[]
  /** Refuse envelopes without a tag, and tags that `keys` does not check. */
  requireAuthentication?: boolean
  /**
   * How long to wait, blocking, for the event that may have come along (milliseconds, 10,000 where it is left out): it says that
   * the exporter's work on the memory is done.
   */
  eventTimeoutMs?: number
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

/** Bytes behind an envelope's sections. */
const CHECKSUM = 4
const TAG = 32
/** u32 role, u32 zero, before a further handle's bytes. */
const FURTHER_HEAD = 8
const STALE = VERDICTS.indexOf('stale-handle')
const NEVER_ISSUED = VERDICTS.indexOf('never-issued')

// The envelope's way: validated in the core, then opened from there.
export class EnvelopeOpening extends Held {
  readonly device: Device
  readonly nbytes: number
  readonly offset: number
  readonly readOnly: boolean
  override readonly description: Described | undefined
  readonly unchecked: readonly string[]
  /** Whether the driver keeps what is mapped until it is closed here, whatever the exporter does. */
  readonly mappingStaysValid: boolean
  readonly #sources: DescriptorSources
  readonly #traits: LayoutTraits
  readonly #eventTimeoutMs: number

  constructor(bytes: Uint8Array, device: Device, nbytes: number | undefined, options: OpenOptions & { hasLease?: boolean }) {
    super()
    this.#sources = descriptorSources(options)
    this.#eventTimeoutMs = eventTimeout(options.eventTimeoutMs, 'open: eventTimeoutMs')
    const isTagChecked = validateFor('memory', bytes, device, nbytes, options)
    const { core } = environment()
    const at = core.inputAt
    const u8 = core.u8
    refuseUnknownRoles(u8, at, at + handleOffset(u8, at))
    if (device.backend === 'cuda') refuseOtherBoot(u8, at)
    this.device = device
    this.nbytes = nbytes ?? size(u8, at + HEADER.nbytes)
    this.offset = size(u8, at + HEADER.offset)
    this.#traits = openable(u8[at + HEADER.layout]!)
    const handle = at + handleOffset(u8, at)
    this.readOnly = isReadOnly(u8, handle, this.#traits)
    this.description = describedIn(u8, at, handle)
    this.mappingStaysValid = this.#traits.endsWithMemory !== true
    this.unchecked = openUnchecked(u32(u8, at + HEADER.key_id), isTagChecked, { layout: this.#traits.name, hasLease: options.hasLease === true })
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
      this.#waitForEvent(at, handle)
    } catch (error) {
      found?.done()
      throw error
    }
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

  // The core has checked that there is one at most.
  #waitForEvent(at: number, handle: number): void {
    const { core, native } = environment()
    const further = sectionAt(SECTIONS['further-handle'], core.u8, at, handle)
    if (further < 0) return
    const { backendIndex, index } = this.device
    const length = u32(core.u8, further - 4) - FURTHER_HEAD
    const claim = checked(() => native.openEvent(backendIndex, index, core.u8, further + FURTHER_HEAD, length, -1, {}))
    try {
      waitForEvent(claim, this.#eventTimeoutMs, 'open')
    } finally {
      native.end(claim)
    }
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
      ...vendorUnchecked(layout),
      ...(layout !== 'host' && this.#traits.descriptor === 'identified' ? [DESCRIPTOR_UNCHECKED] : []),
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

/** Where the bytes of a section are, -1 without one. */
export function sectionAt(type: number, u8: Uint8Array, at: number, handle: number): number {
  const end = sectionsEnd(u8, at)
  const section = sectionFrom(type, u8, handle - 8, end)
  return section < end && u16(u8, section) === type ? section + 8 : -1
}

// Sections ascend by type; checksum and tag follow the last.
function sectionFrom(type: number, u8: Uint8Array, section: number, end: number): number {
  while (section < end && u16(u8, section) < type) section = next(u8, section)
  return section
}

function next(u8: Uint8Array, section: number): number {
  return section + 8 + ((u32(u8, section + 4) + 7) & ~7)
}

function sectionsEnd(u8: Uint8Array, at: number): number {
  const isAuthenticated = (u8[at + HEADER.flags]! & 1) === 1
  return at + u32(u8, at + HEADER.total_length) - (isAuthenticated ? CHECKSUM + TAG : CHECKSUM)
}

// CUDA's driver is not asked for what is in another machine's memory, or in none any more: it cannot tell.
function refuseOtherBoot(u8: Uint8Array, at: number): void {
  const { bootId } = environment().process
  if (bootId.every((byte, i) => byte === u8[at + HEADER.boot_id + i])) return
  throw new HandleError('other-boot', 'open: the exporter ran before this machine was started, or on another one', HEADER.boot_id)
}

// A further handle belongs to the memory: who does not know what for must not open that without it.
function refuseUnknownRoles(u8: Uint8Array, at: number, handle: number): void {
  const type = SECTIONS['further-handle']
  const end = sectionsEnd(u8, at)
  for (let section = sectionFrom(type, u8, handle - 8, end); section < end && u16(u8, section) === type; section = next(u8, section)) {
    const role = u32(u8, section + 8)
    if (role === FURTHER_ROLES.event) continue
    throw new HandleError('unknown-role', `open: a handle of role ${role} comes with the memory, which this version does not know`, section + 8 - at)
  }
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
