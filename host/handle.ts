import { asBytes, checkNbytes, quote } from './arguments.ts'
import { authenticateWith } from './core/authenticate.ts'
import { HEADER, LAYOUTS, SECTIONS } from './core/names.generated.ts'
import { toText } from './core/text.ts'
import { descriptorFrom, type Descriptor } from './descriptor.ts'
import { DESCRIPTOR_OPTIONS } from './descriptor_search.ts'
import { Device, listBackends, selectDevice } from './device.ts'
import { diagnose } from './diagnostics.ts'
import { deviceToOpenOn, envelopeBytes, size, u16, u32 } from './envelope.ts'
import { environment } from './environment.ts'
import { StateError, checked, fromNative, typeError } from './errors.ts'
import { sealExport, type ExportOptions, EXPORT_OPTIONS } from './export.ts'
import type { EnvelopeKey } from './keys.ts'
import { MemoryIPCDevice, MemoryUSMDevice, UsmMemory, memoryClaim } from './memory.ts'
import { EnvelopeOpening, VendorOpening, sectionAt, type OpenOptions, type OpenVendorOptions } from './open.ts'
import { checkOptions } from './options.ts'

/** PyTorch's two bytes before a CUDA handle: its version, and that cudaMalloc made the memory (torch 2.11). */
const TORCH_VERSION = 2
const TORCH_CUDA_MALLOC = 0x63

/** @internal The way to the export's claim, for leases on it. */
export const handleClaim: unique symbol = Symbol('usm-ipc.handle-claim')

/**
 * An export of device memory: handle bytes for another process. It keeps its allocation alive until `close()`.
 *
 * @example
 * ```ts
 * import { IPCMemoryHandle, MemoryUSMDevice, selectDevice } from 'usm-ipc'
 *
 * const device = selectDevice('host')
 * using memory = new MemoryUSMDevice(4096, { device })
 * using handle = new IPCMemoryHandle(memory)
 * const bytes = handle.toBytes() // send these, and handle.descriptors beside them
 * using mapped = IPCMemoryHandle.open(bytes, device, 4096) // here: in the same process
 * console.assert(mapped.nbytes === 4096)
 * ```
 */
export class IPCMemoryHandle {
  readonly device: Device
  #claim = 0
  #record = 0
  #bytes: Uint8Array
  #descriptors: readonly Descriptor[] | undefined
  // Whoever owns the memory's bytes, where that is not this package: held, never read.
  // oxlint-disable-next-line no-unused-private-class-members
  #owner: unknown

  /**
   * @param memory - USM device memory of this process
   * @throws TypeError for USM host or shared memory; StateError for closed memory and for memory opened by IPC
   */
  constructor(memory: MemoryUSMDevice, options: ExportOptions = {}) {
    checkOptions(options, EXPORT_OPTIONS, 'new IPCMemoryHandle')
    const { claim, owner } = exportable(memory)
    this.#owner = owner
    this.device = memory.device
    const { core, native, books } = environment()
    this.#bytes = sealExport(memory, options)
    // From here on the handle goes back to the driver with the export's claim, or at once where there can be none.
    this.#claim = checked(() => native.claim(claim, 2, this))
    try {
      core.u8.set(this.#bytes.subarray(HEADER.allocation_random, HEADER.allocation_random + 16), core.scratchAt)
      this.#record = books.add('export', core.scratchAt, memory.nbytes, this.#claim)
    } catch (error) {
      this.#claim = 0
      throw fromNative(error)
    }
    diagnose('export', () => ({ device: this.device.selector, nbytes: memory.nbytes }))
  }

  /**
   * A copy of the envelope; with `format: 'vendor'` of the driver's own handle in it, which other programs of that runtime
   * open (SYCL: 120 or 108 bytes, by Unified Runtime's adapter; CUDA: 64 bytes). A raw handle has no checksum, no identity and
   * no offset: say `offset` beside it. `layout: 'torch-cuda'` gives PyTorch's 66 bytes of a CUDA handle.
   */
  toBytes(options: { format?: 'envelope' | 'vendor'; layout?: 'torch-cuda' } = {}): Uint8Array {
    this.#live('toBytes')
    checkOptions(options, ['format', 'layout'], 'toBytes')
    const { format = 'envelope', layout } = options
    if (layout !== undefined && (format !== 'vendor' || layout !== 'torch-cuda')) {
      throw typeError('invalid-format', `toBytes: layout is 'torch-cuda', together with format: 'vendor'`)
    }
    if (format === 'envelope') return this.#bytes.slice()
    if (format !== 'vendor') throw typeError('invalid-format', `toBytes: format must be 'envelope' or 'vendor', not ${quote(format)}`)
    const handle = u16(this.#bytes, HEADER.header_length) + 8
    const bytes = this.#bytes.slice(handle, handle + u32(this.#bytes, handle - 4))
    if (layout === undefined) return bytes
    if (u16(this.#bytes, HEADER.layout) !== LAYOUTS.cuda) {
      throw new StateError('not-shareable', `toBytes: PyTorch opens CUDA's legacy handles alone: allocate with ipc: 'legacy'`)
    }
    return Uint8Array.of(TORCH_VERSION, TORCH_CUDA_MALLOC, ...bytes)
  }

  /** Where the shared range begins in the driver's base allocation, in bytes: raw handles of CUDA do not say it. */
  get offset(): number {
    return size(this.#bytes, HEADER.offset)
  }

  /** Bytes of the driver's base allocation. */
  get allocationNbytes(): number {
    return size(this.#bytes, HEADER.allocation_size)
  }

  /** The text form, `usmipc0.` and base64url. A bearer token: keep it out of logs. */
  toString(): string {
    this.#live('toString')
    return toText(this.#bytes)
  }

  /** What must travel beside the bytes (SCM_RIGHTS, FdChannel); none for CUDA's legacy handles. They are closed with the handle. */
  get descriptors(): readonly Descriptor[] {
    this.#live('descriptors')
    try {
      if (!wantsDescriptor(this.#bytes)) return NO_DESCRIPTORS
      if (this.#descriptors?.some((d) => d.isClosed) !== false) this.#descriptors = Object.freeze([exported(this.#claim)])
      return this.#descriptors
    } catch (error) {
      throw fromNative(error)
    }
  }

  get isClosed(): boolean {
    return this.#claim === 0
  }

  /** Ends the export (SYCL's put). Mappings that importers have stay valid. Idempotent. */
  close(): void {
    if (this.#claim === 0) return
    const claim = this.#claim
    this.#claim = 0
    for (const descriptor of this.#descriptors ?? []) descriptor.close()
    this.#owner = undefined
    environment().books.end(this.#record, claim)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** Without the bytes: what is logged or serialized by accident opens nothing. */
  toJSON(): object {
    return { type: 'IPCMemoryHandle', device: this.device.selector, size: this.#bytes.length, closed: this.isClosed }
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `IPCMemoryHandle { device: ${this.device.selector}, size: ${this.#bytes.length}, closed: ${this.isClosed} }`
  }

  /** @internal */
  [handleClaim](): number {
    this.#live('lease')
    return this.#claim
  }

  #live(what: string): void {
    if (this.#claim === 0) throw new StateError('closed', `${what}: this IPC handle has been closed`)
  }

  /**
   * Opens an envelope: checks it, checks the descriptor beside it, and only then asks the driver.
   *
   * @param bytes - what `toBytes()` gave, or its text form
   * @param device - the device of this process that the memory is for (same UUID), or a selector
   * @param nbytes - how much of the shared range, from its beginning; all of it where it is left out
   * @throws HandleError with the verdict; DriverError; PeerError (allowPidfd); StateError
   */
  static open(bytes: Uint8Array | string, device: Device | string, nbytes?: number, options: OpenOptions = {}): MemoryIPCDevice {
    checkOptions(options, OPEN_OPTIONS, 'IPCMemoryHandle.open')
    const on = deviceToOpenOn(device)
    if (nbytes !== undefined) checkNbytes(nbytes)
    return new MemoryIPCDevice(new EnvelopeOpening(envelopeBytes(bytes), on, nbytes, options))
  }

  /**
   * Opens a raw handle that another library or program made. The caller says what it is; structural faults are refused,
   * and the result's `unchecked` says what could not be checked.
   *
   * @param raw - the vendor handle
   * @param nbytes - size of the range in bytes, > 0
   */
  static openVendor(raw: Uint8Array, device: Device | string, nbytes: number, options: OpenVendorOptions): MemoryIPCDevice {
    checkOptions(options, OPEN_VENDOR_OPTIONS, 'IPCMemoryHandle.openVendor')
    const on = deviceToOpenOn(device)
    checkNbytes(nbytes)
    return new MemoryIPCDevice(new VendorOpening(asBytes(raw, 'raw'), on, nbytes, options ?? ({} as OpenVendorOptions)))
  }

  /**
   * Closes a mapping. Idempotent.
   *
   * @throws StateError `ERR_USM_IPC_NOT_IPC` for memory that was not opened by IPC
   */
  static closeMapping(memory: MemoryUSMDevice): void {
    if (!(memory instanceof UsmMemory)) throw typeError('invalid-memory', 'closeMapping takes a MemoryIPCDevice')
    if (!(memory instanceof MemoryIPCDevice)) {
      throw new StateError('not-ipc', 'closeMapping was called on non-IPC memory: only what IPCMemoryHandle.open gave has a mapping')
    }
    memory.close()
  }

  /** Whether memory can be shared here: on a device, or on any backend. */
  static isAvailable(device?: Device | string): boolean {
    if (device === undefined) return listBackends().some((b) => b.available)
    try {
      return selectDevice(device) instanceof Device
    } catch {
      return false
    }
  }
}

const OPEN_OPTIONS = [...DESCRIPTOR_OPTIONS, 'keys', 'requireAuthentication', 'eventTimeoutMs']
const OPEN_VENDOR_OPTIONS = [...DESCRIPTOR_OPTIONS, 'layout', 'offset']

function exportable(memory: unknown): { claim: number; owner: unknown } {
  if (!(memory instanceof UsmMemory)) throw typeError('invalid-memory', 'an IPCMemoryHandle is made of a MemoryUSMDevice')
  if (memory instanceof MemoryIPCDevice) {
    throw new StateError('ipc-memory', 'memory that was opened by IPC is not exported again: the exporter hands it on')
  }
  if (!(memory instanceof MemoryUSMDevice)) {
    throw typeError('not-exportable', `IPC handles are for USM device memory, not for USM ${memory.usmType} memory`)
  }
  return memory[memoryClaim]('IPCMemoryHandle')
}

const NO_DESCRIPTORS: readonly Descriptor[] = Object.freeze([])

function wantsDescriptor(envelope: Uint8Array): boolean {
  const handle = u16(envelope, HEADER.header_length) + 8
  return sectionAt(SECTIONS.descriptors, envelope, 0, handle) >= 0
}

function exported(claim: number): Descriptor {
  const holder = {}
  return descriptorFrom(environment().native.exportDescriptor(claim, holder), holder)
}

/**
 * Exports memory and returns the envelope; pins nothing, as in dpctl: the bytes are good while the memory is.
 *
 * @throws TypeError for USM host or shared memory
 */
export function getMemHandle(memory: MemoryUSMDevice, options?: ExportOptions): Uint8Array {
  using handle = new IPCMemoryHandle(memory, options)
  return handle.toBytes()
}

/**
 * The envelope with a tag that this key makes, instead of the one that it may have. That one is not checked: this is for
 * envelopes of one's own.
 *
 * @param bytes - what `toBytes()` gave
 * @throws HandleError where it is no valid envelope; TypeError or RangeError `ERR_USM_IPC_INVALID_KEY`
 */
export function authenticateEnvelope(bytes: Uint8Array, key: EnvelopeKey): Uint8Array {
  return authenticateWith(environment().core, bytes, key)
}

/** `IPCMemoryHandle.open`. */
export function openMemHandle(bytes: Uint8Array | string, device: Device | string, nbytes?: number, options?: OpenOptions): MemoryIPCDevice {
  return IPCMemoryHandle.open(bytes, device, nbytes, options)
}

/** `IPCMemoryHandle.closeMapping`. */
export function closeMemHandle(memory: MemoryUSMDevice): void {
  IPCMemoryHandle.closeMapping(memory)
}

