/** The two ways in: an envelope, and a raw handle of somebody else's. */
import { checkRange } from './arguments.ts'
import { OPEN_UNCHECKED, VENDOR_UNCHECKED, checkVendor } from './core/inspect.ts'
import { HEADER, LAYOUTS, MESSAGES, VERDICTS, type LayoutName } from './core/names.generated.ts'
import { descriptorSources, findDescriptor, type DescriptorOptions, type DescriptorSources } from './descriptor_search.ts'
import type { Device } from './device.ts'
import { environment } from './environment.ts'
import { HandleError, fromNative, typeError } from './errors.ts'
import { PreparedPolicy } from './core/policy.ts'
import { Held, type Claimed } from './memory.ts'

export interface OpenOptions extends DescriptorOptions {
  /** Refuse envelopes without authentication. Version 0 has none. */
  requireAuthentication?: boolean
}

export interface OpenVendorOptions extends DescriptorOptions {
  /** What the bytes are. It is never guessed. */
  layout: LayoutName
  /** Where the range begins, in bytes from the driver's base allocation. 0 by default. */
  offset?: number
}

/** Clocks of one machine agree; this much is for a clock that was set while handles travelled. */
const CLOCK_SKEW = 60_000
const HOST_SIZE = 16
const HOST_FLAGS = 28
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
  readonly unchecked: readonly string[] = OPEN_UNCHECKED
  readonly #sources: DescriptorSources

  constructor(bytes: Uint8Array, device: Device, nbytes: number | undefined, options: OpenOptions) {
    super()
    this.#sources = descriptorSources(options)
    const { requireAuthentication = false } = options
    if (typeof requireAuthentication !== 'boolean') throw typeError('invalid-options', 'requireAuthentication must be true or false')
    const policy = requireAuthentication ? policyOf(device, true) : (policies.get(device) ?? policyOf(device, false))
    const { core } = environment()
    const code = core.validateCode(bytes, policy.set(Date.now(), nbytes))
    if (code !== 0) throw core.refusal(code)
    const at = core.inputAt
    const u8 = core.u8
    this.device = device
    this.nbytes = nbytes ?? size(u8, at + HEADER.nbytes)
    this.offset = size(u8, at + HEADER.offset)
    this.readOnly = u8[at + HEADER.layout] === LAYOUTS.host && (u8[at + handleOffset(u8, at) + HOST_FLAGS]! & 1) === 1
  }

  acquire(holder: object): Claimed {
    const { core, native, books } = environment()
    const at = core.inputAt
    const id = at + HEADER.allocation_random
    const status = core.exports.ledgerStatus(id)
    if (status === STALE || status === NEVER_ISSUED) throw new HandleError(VERDICTS[status]!, MESSAGES[status]!, HEADER.allocation_random)
    const u8 = core.u8
    const handle = at + handleOffset(u8, at)
    const found = findDescriptor(this.#sources, at, handle, status === 0)
    let claim: number
    try {
      claim = native.open(
        this.device.backendIndex, this.device.index, u8, handle, u32(u8, handle - 4), id,
        size(u8, at + HEADER.allocation_size), found?.claim ?? 0, holder,
      )
    } catch (error) {
      throw fromNative(error)
    } finally {
      found?.done()
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
  readonly unchecked: readonly string[] = VENDOR_UNCHECKED
  readonly #length: number
  readonly #size: number
  readonly #sources: DescriptorSources

  constructor(raw: Uint8Array, device: Device, nbytes: number, options: OpenVendorOptions) {
    super()
    this.#sources = descriptorSources(options)
    const { layout, offset = 0 } = options
    if (this.#sources.allowPidfd) {
      throw typeError('invalid-options', 'openVendor: a raw host handle does not say whose it is, so allowPidfd cannot fetch its descriptor')
    }
    const { core } = environment()
    const code = checkVendor(core, raw, layout)
    if (code !== 0) throw core.refusal(code)
    if (layout !== device.backend) throw new HandleError('wrong-backend', `a ${layout} handle is not opened by a ${device.backend} device`)
    this.#size = size(core.u8, core.inputAt + HOST_SIZE)
    this.offset = checkRange(offset, nbytes, this.#size, 'openVendor')
    this.device = device
    this.nbytes = nbytes
    this.readOnly = (core.u8[core.inputAt + HOST_FLAGS]! & 1) === 1
    this.#length = raw.length
  }

  acquire(holder: object): Claimed {
    const { core, native, books } = environment()
    const found = findDescriptor(this.#sources, 0, core.inputAt, false)
    let claim: number
    try {
      claim = native.open(
        this.device.backendIndex, this.device.index, core.u8, core.inputAt, this.#length, -1, this.#size, found?.claim ?? 0, holder,
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

// A valid envelope's first section is its handle: sections ascend by type.
function handleOffset(u8: Uint8Array, at: number): number {
  return (u8[at + HEADER.header_length]! | (u8[at + HEADER.header_length + 1]! << 8)) + 8
}

function u32(u8: Uint8Array, at: number): number {
  return (u8[at]! | (u8[at + 1]! << 8) | (u8[at + 2]! << 16) | (u8[at + 3]! << 24)) >>> 0
}

// The core has checked that it is below 2^53.
function size(u8: Uint8Array, at: number): number {
  return u32(u8, at) + u32(u8, at + 4) * 2 ** 32
}
