import { asBytes, checkNbytes, checkRange, quote } from './arguments.ts'
import { describeArray, type Description } from './array.ts'
import { inSlices, type CopyOptions } from './copy.ts'
import { decodeArray } from './core/array.ts'
import { fromHex } from './core/bytes.ts'
import { diagnose } from './diagnostics.ts'
import { selectDevice, type Device } from './device.ts'
import { environment } from './environment.ts'
import { StateError, checked, fromNative, rangeError, typeError } from './errors.ts'
import { Held, type Described, type Lease } from './held.ts'
import { checkOptions } from './options.ts'
import { PointerAdoption, type FromPointerOptions } from './pointer.ts'

/** SYCL's kinds of unified shared memory. */
export type UsmType = 'device' | 'host' | 'shared'
const USM_CODES = { device: 1, host: 2, shared: 3 } as const

export interface AllocationOptions {
  /** A device or a selector; `selectDevice()` chooses where it is left out. */
  device?: Device | string
  /**
   * What importers may do. `readOnly` is enforced by the backend (host: a seal on the memory's descriptor) or refused by
   * it, and cannot be changed later. Device memory only.
   */
  sharing?: 'readWrite' | 'readOnly'
  /**
   * How CUDA device memory is made to be exported. `legacy` (the default): the handle is bytes alone, which PyTorch, CuPy
   * and numba open too. `fd`: virtual memory (cuMemCreate), `pool`: a stream-ordered pool of its own; with both a
   * descriptor travels beside the bytes. `fd` alone promises that a mapping outlives the exporter's memory.
   */
  ipc?: 'legacy' | 'fd' | 'pool'
}

const IPC_CODES = { legacy: 1, fd: 2, pool: 3 } as const

/** @internal The way from a memory to its claim, for the files beside this one. */
export const memoryClaim: unique symbol = Symbol('usm-ipc.claim')

/** @internal The driver's base allocation, which does not change while the memory lives. */
export interface DriverAllocation {
  nbytes: number
  /** 16 bytes */
  id: Uint8Array
}

/** @internal */
export const memoryAllocation: unique symbol = Symbol('usm-ipc.allocation')

function driverAllocation(claim: number): DriverAllocation {
  const { nbytes, allocationId } = environment().native.info(claim)
  return { nbytes, id: fromHex(allocationId)! }
}

/** Memory of a device that a driver gave. The base of the classes below; not constructed itself. */
export abstract class UsmMemory {
  readonly device: Device
  readonly usmType: UsmType
  /** True where this process may not write it: an import of memory that was shared `readOnly`. */
  readonly readOnly: boolean
  #claim = 0
  #record = 0
  #nbytes: number
  #offset: number
  #owner: unknown
  #description: Described | undefined
  #allocation: DriverAllocation | undefined

  /** @internal */
  protected constructor(usmType: UsmType, size: number | Held, options: AllocationOptions) {
    this.usmType = usmType
    if (size instanceof Held) {
      const { claim, record } = size.acquire(this)
      this.#claim = claim
      this.#record = record
      this.device = size.device
      this.readOnly = size.readOnly
      this.#nbytes = size.nbytes
      this.#offset = size.offset
      this.#owner = size.owner
      this.#description = size.description
      return
    }
    if (typeof options === 'string') throw typeError('invalid-options', `new ${new.target.name}: the device goes into the options: { device: ${quote(options)} }`)
    checkOptions(options, ['device', 'sharing', 'ipc'], `new ${new.target.name}`)
    const readOnly = checkSharing(options.sharing, usmType)
    const { ipc } = options
    this.device = selectDevice(options.device)
    const ipcCode = ipc === undefined ? 0 : checkIpc(ipc, this.device, usmType)
    this.readOnly = false
    this.#nbytes = checkNbytes(size)
    this.#offset = 0
    const { core, native, books } = environment()
    books.ledger.nextId(core.scratchAt)
    this.#claim = checked(() => native.allocate(
      this.device.backendIndex, this.device.index, USM_CODES[usmType], this.#nbytes, readOnly, core.u8, core.scratchAt, this, ipcCode,
    ))
    try {
      this.#record = books.add('allocation', core.scratchAt, this.#nbytes, this.#claim)
    } catch (error) {
      this.#claim = 0
      throw error
    }
  }

  /** Bytes; 0 once it is closed. */
  get nbytes(): number {
    return this.#claim === 0 ? 0 : this.#nbytes
  }

  /** Address of the first byte in this process (on the device's own address space where it has one); 0n once closed. */
  get pointer(): bigint {
    if (this.#claim === 0) return 0n
    return environment().native.info(this.#claim).base + BigInt(this.#offset)
  }

  get isClosed(): boolean {
    return this.#claim === 0
  }

  /**
   * The driver's base allocation that this memory lies in: its size, and where in it the memory begins, in bytes. An
   * importer maps all of it. Closed: undefined.
   */
  get baseAllocation(): { nbytes: number; offset: number } | undefined {
    if (this.#claim === 0) return undefined
    return { nbytes: environment().native.info(this.#claim).nbytes, offset: this.#offset }
  }

  /** What the memory is: its size and place, and what the exporter said of it where it was opened. */
  describe(): Description {
    const { name, array, metadata } = this.#description ?? {}
    const { nbytes, device, readOnly } = this
    return {
      name, nbytes, device, readOnly,
      array: array === undefined ? undefined : describeArray(decodeArray(array), this.#nbytes),
      metadata: metadata?.(),
    }
  }

  /** Ends this claim. The driver's memory goes with its last claim: an export or a view keeps it. Idempotent. */
  close(): void {
    if (this.#claim === 0) return
    const claim = this.#claim
    this.#claim = 0
    this.#owner = undefined
    environment().books.end(this.#record, claim)
    diagnose('close', () => ({ kind: this instanceof MemoryIPCDevice ? 'mapping' : 'allocation', device: this.device.selector, nbytes: this.#nbytes }))
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /**
   * Copies into this memory; returns when the bytes are there.
   *
   * @param source - bytes, or other memory of the same backend (all of it)
   * @param offset - where to, in bytes
   * @returns bytes copied
   * @throws RangeError `ERR_USM_IPC_OUT_OF_RANGE`; StateError when closed or read-only
   */
  copyFrom(source: ArrayBufferView | ArrayBufferLike | UsmMemory, offset = 0): number {
    const claim = this.#live('copyFrom')
    const { native } = environment()
    this.#writable('copyFrom')
    if (source instanceof UsmMemory) {
      const from = source.#live('copyFrom: the source')
      if (source.device.backend !== this.device.backend) {
        throw typeError('wrong-backend', `copyFrom: the source is memory of ${source.device.backend}, this is of ${this.device.backend}: copy through the host`)
      }
      checkRange(offset, source.#nbytes, this.#nbytes, 'copyFrom')
      checked(() => native.copy(claim, this.#offset + offset, from, source.#offset, source.#nbytes))
      return source.#nbytes
    }
    const bytes = asBytes(source, 'source')
    checkRange(offset, bytes.length, this.#nbytes, 'copyFrom')
    if (bytes.length > 0) checked(() => native.write(claim, this.#offset + offset, bytes))
    return bytes.length
  }

  /**
   * Copies out of this memory; returns when the bytes are there.
   *
   * @param target - filled whole
   * @param offset - where from, in bytes
   * @returns bytes copied
   */
  copyTo(target: ArrayBufferView | ArrayBufferLike, offset = 0): number {
    const claim = this.#live('copyTo')
    const bytes = asBytes(target, 'target')
    checkRange(offset, bytes.length, this.#nbytes, 'copyTo')
    if (bytes.length > 0) checked(() => environment().native.read(claim, this.#offset + offset, bytes))
    return bytes.length
  }

  /** Sets bytes to `value` (0 to 255): from `offset`, `nbytes` of them or all that follow. */
  fill(value: number, offset = 0, nbytes?: number): void {
    const claim = this.#live('fill')
    this.#writable('fill')
    if (!Number.isInteger(value) || value < 0 || value > 255) throw rangeError('invalid-byte', `fill: value must be a byte from 0 to 255, not ${quote(value)}`)
    const length = this.#lengthFrom(offset, nbytes, 'fill')
    checked(() => environment().native.fill(claim, this.#offset + offset, length, value))
  }

  /** `copyFrom` in slices, between which the event loop runs. The source must not change until it resolves. */
  async copyFromAsync(source: ArrayBufferView | ArrayBufferLike, offset = 0, options: CopyOptions = {}): Promise<number> {
    const bytes = asBytes(source, 'source')
    this.#live('copyFromAsync')
    checkRange(offset, bytes.length, this.#nbytes, 'copyFromAsync')
    return inSlices(bytes.length, options, 'copyFromAsync', (at, size) => this.copyFrom(slice(bytes, at, size), offset + at))
  }

  /** `copyTo` in slices, between which the event loop runs. */
  async copyToAsync(target: ArrayBufferView | ArrayBufferLike, offset = 0, options: CopyOptions = {}): Promise<number> {
    const bytes = asBytes(target, 'target')
    this.#live('copyToAsync')
    checkRange(offset, bytes.length, this.#nbytes, 'copyToAsync')
    return inSlices(bytes.length, options, 'copyToAsync', (at, size) => this.copyTo(slice(bytes, at, size), offset + at))
  }

  /** `fill` in slices, between which the event loop runs. */
  async fillAsync(value: number, offset = 0, nbytes?: number, options: CopyOptions = {}): Promise<void> {
    this.#live('fillAsync')
    const length = this.#lengthFrom(offset, nbytes, 'fillAsync')
    await inSlices(length, options, 'fillAsync', (at, size) => this.fill(value, offset + at, size))
  }

  /**
   * The memory itself as bytes, without a copy. Host-addressable memory only; refused on a read-only import, where a
   * write would be a fault. The view holds a claim of its own: it stays valid after `close()`, until it is collected.
   *
   * @param offset - first byte
   * @param nbytes - how many; all that follow where it is left out
   */
  view(offset = 0, nbytes?: number): Uint8Array<ArrayBuffer> {
    const claim = this.#live('view')
    if (this.readOnly) {
      throw new StateError('read-only', 'view: the memory was shared read-only and a write through a view would crash: use copyTo')
    }
    const length = this.#lengthFrom(offset, nbytes, 'view')
    const { core, native, books } = environment()
    try {
      const { allocationId } = native.info(claim)
      const { buffer, claim: held } = native.view(claim, this.#offset + offset, length)
      if (allocationId === '') books.ledger.nextId(core.scratchAt) // openVendor: nobody told its id
      else core.u8.set(fromHex(allocationId)!, core.scratchAt)
      // A view cannot be closed: its record ends when its buffer's finalizer has run.
      books.add('view', core.scratchAt, length, held)
      books.join(claim, held)
      return new Uint8Array(buffer)
    } catch (error) {
      const known = fromNative(error) as { code?: unknown }
      if (typeof known?.code === 'string' && known.code.startsWith('ERR_USM_IPC_')) throw known
      throw new StateError('views-unsupported', `view: this runtime makes no buffer of ${length} bytes over memory that is not its own: use copyTo`, { cause: error })
    }
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `${this.constructor.name} { device: ${this.device.selector}, nbytes: ${this.nbytes}, closed: ${this.isClosed} }`
  }

  /** @internal */
  get [memoryAllocation](): DriverAllocation {
    return (this.#allocation ??= driverAllocation(this.#live('the driver\'s allocation')))
  }

  /** @internal */
  [memoryClaim](what: string): { claim: number; offset: number; nbytes: number; owner: unknown } {
    return { claim: this.#live(what), offset: this.#offset, nbytes: this.#nbytes, owner: this.#owner }
  }

  #live(what: string): number {
    if (this.#claim === 0) throw new StateError('closed', `${what}: this memory is closed`)
    return this.#claim
  }

  // How many bytes a range has that may be given without its size.
  #lengthFrom(offset: number, nbytes: number | undefined, what: string): number {
    checkRange(offset, 0, this.#nbytes, what)
    const length = checkNbytes(nbytes === undefined ? this.#nbytes - offset : nbytes)
    checkRange(offset, length, this.#nbytes, what)
    return length
  }

  #writable(what: string): void {
    if (this.readOnly) throw new StateError('read-only', `${what}: the memory was shared read-only; only its exporter can write it`)
  }
}

/**
 * USM device memory: the kind that can be exported.
 *
 * @example
 * ```ts
 * import { MemoryUSMDevice } from 'usm-ipc'
 *
 * using memory = new MemoryUSMDevice(4096, { device: 'host' })
 * memory.copyFrom(new Uint8Array([1, 2, 3]))
 * const bytes = new Uint8Array(3)
 * memory.copyTo(bytes)
 * console.assert(bytes[2] === 3)
 * ```
 */
export class MemoryUSMDevice extends UsmMemory {
  /** @param nbytes - size in bytes, > 0 */
  constructor(nbytes: number, options?: AllocationOptions)
  /** @internal */
  constructor(nbytes: number | Held, options: AllocationOptions = {}) {
    super('device', nbytes as number, options)
  }

  /**
   * Device memory that another library of this process allocated (SYCL, Level Zero, CUDA), to be exported or copied. It stays
   * that library's: closing frees nothing. Whoever wrote it waits for its own queues first.
   *
   * @param pointer - its address on the device
   * @param nbytes - size of the range in bytes, > 0
   * @throws StateError `ERR_USM_IPC_NEIGHBOURS` where it is a part of a larger allocation, all of which an importer would
   *   map; RangeError `ERR_USM_IPC_NOT_DEVICE_MEMORY` where the driver does not know the pointer as device USM
   */
  static fromPointer(pointer: bigint, nbytes: number, options: FromPointerOptions = {}): MemoryUSMDevice {
    return new MemoryUSMDevice(new PointerAdoption(pointer, nbytes, options) as unknown as number)
  }
}

/** USM host memory. It belongs to this process: exporting it is a TypeError, as in dpctl. */
export class MemoryUSMHost extends UsmMemory {
  /** @param nbytes - size in bytes, > 0 */
  constructor(nbytes: number, options: AllocationOptions = {}) {
    super('host', nbytes, options)
  }
}

/** USM shared memory. It migrates, so it cannot be exported: a TypeError, as in dpctl. */
export class MemoryUSMShared extends UsmMemory {
  /** @param nbytes - size in bytes, > 0 */
  constructor(nbytes: number, options: AllocationOptions = {}) {
    super('shared', nbytes, options)
  }
}

/** Another process's device memory, opened here. Made by `IPCMemoryHandle.open`; its type stays after `close()`. */
export class MemoryIPCDevice extends MemoryUSMDevice {
  /** What could not be checked when it was opened, each with the reason. */
  readonly unchecked: readonly string[]
  /** The exporter's promise to keep the memory, where it was opened through a session. */
  readonly lease: Lease | undefined

  /** @internal */
  constructor(held: Held) {
    if (!(held instanceof Held)) throw typeError('not-constructible', 'a MemoryIPCDevice is made by IPCMemoryHandle.open')
    super(held as unknown as number)
    this.unchecked = held.unchecked
    this.lease = held.lease
    diagnose('open', () => ({ device: this.device.selector, nbytes: this.nbytes, path: this.path, lease: this.lease?.id }))
  }

  /** How it was opened: `mapped` by the driver, `cached` from a live claim of this process, or `self`: its own memory. Closed: undefined. */
  get path(): 'mapped' | 'cached' | 'self' | undefined {
    if (this.isClosed) return undefined
    return (['mapped', 'mapped', 'cached', 'self'] as const)[environment().native.info(this[memoryClaim]('path').claim).path]
  }
}

// Taken when its turn comes: a buffer that was detached meanwhile ends the copy with an error instead of being read.
function slice(bytes: Uint8Array, at: number, size: number): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset + at, size)
}

function checkIpc(ipc: unknown, device: Device, usmType: UsmType): number {
  if (typeof ipc !== 'string' || !Object.hasOwn(IPC_CODES, ipc)) throw typeError('invalid-ipc', `ipc must be 'legacy', 'fd' or 'pool', not ${quote(ipc)}`)
  if (device.backend !== 'cuda') throw typeError('invalid-ipc', `ipc is for CUDA memory: that of ${device.selector} is exported in one way only`)
  if (usmType !== 'device') throw typeError('not-exportable', `USM ${usmType} memory is never shared, so ipc says nothing of it`)
  return IPC_CODES[ipc as keyof typeof IPC_CODES]
}

function checkSharing(sharing: unknown, usmType: UsmType): boolean {
  if (sharing === undefined || sharing === 'readWrite') return false
  if (sharing !== 'readOnly') throw typeError('invalid-sharing', `sharing must be 'readWrite' or 'readOnly', not ${quote(sharing)}`)
  if (usmType !== 'device') throw typeError('not-exportable', `USM ${usmType} memory is never shared, so it cannot be shared readOnly`)
  return true
}
