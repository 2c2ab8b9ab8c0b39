/** What a PyTorch process has shared: opened, and given back as PyTorch's own consumer gives it back. */
import { asBytes, checkNbytes, quote } from './arguments.ts'
import { selectDevice, type Device } from './device.ts'
import { diagnose } from './diagnostics.ts'
import { environment, type Watcher } from './environment.ts'
import { HandleError, checked, typeError } from './errors.ts'
import { eventTimeout, waitForEvent } from './event_wait.ts'
import type { Claimed } from './held.ts'
import { MemoryIPCDevice } from './memory.ts'
import { VendorOpening } from './open.ts'
import { checkOptions } from './options.ts'

/** By its fields, what `storage._share_cuda_()` gives. */
export interface TorchStorage {
  /** 66 bytes. They name the whole segment of PyTorch's allocator that the storage lies in. */
  handle: Uint8Array
  /** Bytes of the storage. */
  nbytes: number
  /** Where in the segment the storage begins, in bytes. */
  offset: number
  /** The ref-counter file, `/torch_...`, and the number of the counter in it. */
  refCounter: { name: string | Uint8Array; offset: number }
  /** 64 bytes: an event that PyTorch has recorded behind what fills the storage. */
  event?: Uint8Array
  /** Whether that is to be waited for: true where an event is given. */
  eventSyncRequired?: boolean
}

/** The tuple of `storage._share_cuda_()`, as an array. */
export type TorchTuple = readonly [
  device: number, handle: Uint8Array, nbytes: number, offset: number, refCounterName: string | Uint8Array, refCounterOffset: number,
  event: Uint8Array, eventSyncRequired: boolean,
]

export interface TorchOpenOptions {
  /** How long to wait, blocking, for PyTorch's event (milliseconds, 10,000 where it is left out). */
  eventTimeoutMs?: number
}

/** CUDA's size of an event's handle, in bytes. */
const EVENT_NBYTES = 64
/** What the addon's torchEnd says. */
const ENDS = ['counted', 'exporter-gone', 'counted-by-another', 'failed', 'still-open', 'ended-before'] as const

/**
 * Opens what a PyTorch process has shared (`tensor.untyped_storage()._share_cuda_()`). When it is closed, and the device is
 * done, PyTorch's counter of it is counted down, so that PyTorch gets its memory back. A share is for one process: nobody else
 * may have received it.
 *
 * @param share - the tuple as an array, or its fields by name
 * @param device - a CUDA device of this process, or a selector; it may be left out where there is one alone. The tuple's number is
 *   the producer's, and may be another device's here
 * @throws PeerError `ERR_USM_IPC_EXPORTER_GONE`, `ERR_USM_IPC_TIMEOUT` (of the event); HandleError `ERR_USM_IPC_STALE_HANDLE` (given
 *   back before), `ERR_USM_IPC_BAD_REF_COUNTER` and those of `IPCMemoryHandle.openVendor`; RangeError `ERR_USM_IPC_INVALID_REF_COUNTER`;
 *   DriverError. The counter stays as it was then, and the share can be tried again.
 */
export function openTorchStorage(share: TorchStorage | TorchTuple, device?: Device | string, options: TorchOpenOptions = {}): MemoryIPCDevice {
  checkOptions(options, ['eventTimeoutMs'], 'openTorchStorage')
  const timeoutMs = eventTimeout(options.eventTimeoutMs, 'openTorchStorage: eventTimeoutMs')
  return new MemoryIPCDevice(new TorchOpening(fieldsOf(share), device === undefined ? onlyDevice() : selectDevice(device), timeoutMs))
}

function onlyDevice(): Device {
  const first = selectDevice('cuda')
  if (checked(() => environment().native.devices(first.backendIndex)).length === 1) return first
  throw typeError('invalid-selector', 'openTorchStorage: there are several CUDA devices: say which one the memory is on')
}

interface Checked {
  handle: Uint8Array
  nbytes: number
  offset: number
  name: string
  index: number
  /** Undefined: there is nothing to wait for. */
  event: Uint8Array | undefined
}

class TorchOpening extends VendorOpening {
  readonly #storage: Checked
  readonly #timeoutMs: number

  constructor(storage: Checked, device: Device, timeoutMs: number) {
    super(storage.handle, device, storage.nbytes, { layout: 'torch-cuda', offset: storage.offset })
    this.#storage = storage
    this.#timeoutMs = timeoutMs
  }

  override acquire(holder: object): Claimed {
    const { native, books } = environment()
    const { backendIndex, index } = this.device
    const share = checked(() => native.torchTake(backendIndex, index, this.#storage.name, this.#storage.index, holder))
    let claimed: Claimed
    try {
      this.#waitForEvent()
      claimed = super.acquire(holder)
    } catch (error) {
      native.torchForget(share)
      throw error
    }
    books.watch(claimed.claim, new OpenShare(share, this.device, this.nbytes))
    return claimed
  }

  // The memory's handle lies in the core's input meanwhile.
  #waitForEvent(): void {
    const { event } = this.#storage
    if (event === undefined) return
    const { core, native } = environment()
    core.u8.set(event, core.scratchAt)
    const { backendIndex, index } = this.device
    const claim = checked(() => native.openEvent(backendIndex, index, core.u8, core.scratchAt, event.length, -1, {}))
    try {
      waitForEvent(claim, this.#timeoutMs, 'openTorchStorage')
    } finally {
      native.end(claim)
    }
  }
}

/** Gives a share back after the last claim on its memory. */
class OpenShare implements Watcher {
  readonly #share: number
  readonly #device: Device
  readonly #nbytes: number
  #claims = 1

  constructor(share: number, device: Device, nbytes: number) {
    this.#share = share
    this.#device = device
    this.#nbytes = nbytes
    if (open.size === 0) process.once('exit', giveAllBack)
    open.add(this)
  }

  joined(): void {
    this.#claims++
  }

  ended(): void {
    if (--this.#claims === 0) this.giveBack()
  }

  giveBack(): void {
    if (!open.delete(this)) return
    if (open.size === 0) process.off('exit', giveAllBack)
    const counter = ENDS[environment().native.torchEnd(this.#share)]
    diagnose('close', () => ({ kind: 'torch-share', device: this.#device.selector, nbytes: this.#nbytes, counter }))
  }
}

const open = new Set<OpenShare>()

/** An exit runs no finalizer, and PyTorch would never get its memory back. */
function giveAllBack(): void {
  for (const share of open) share.giveBack()
}

function fieldsOf(share: unknown): Checked {
  const from = Array.isArray(share) ? ofTuple(share) : (share as Partial<TorchStorage>)
  if (typeof from !== 'object' || from === null) {
    throw typeError('invalid-torch-share', `openTorchStorage takes the tuple of _share_cuda_() as an array, or an object of its fields, not ${quote(share)}`)
  }
  const { handle, nbytes, offset, refCounter, event, eventSyncRequired = event !== undefined } = from
  if (handle === null || handle === undefined) throw typeError('invalid-torch-share', 'openTorchStorage: the share has no handle: an empty storage has no memory')
  if (typeof offset !== 'number') throw typeError('invalid-offset', 'openTorchStorage: the share has no offset; the handle does not say it')
  if (typeof eventSyncRequired !== 'boolean') throw typeError('invalid-torch-share', 'openTorchStorage: eventSyncRequired must be true or false')
  const { name, offset: index } = checkCounter(refCounter)
  return { handle: asBytes(handle, 'handle'), nbytes: checkNbytes(nbytes), offset, name, index, event: eventSyncRequired ? eventBytes(event) : undefined }
}

function ofTuple(tuple: readonly unknown[]): Partial<TorchStorage> {
  if (tuple.length !== 8) throw typeError('invalid-torch-share', `openTorchStorage: _share_cuda_() gives a tuple of 8 items, not of ${tuple.length}`)
  const [, handle, nbytes, offset, name, index, event, eventSyncRequired] = tuple as unknown as TorchTuple
  return { handle, nbytes, offset, refCounter: { name, offset: index }, event, eventSyncRequired }
}

// What is in the file is the addon's to look at.
function checkCounter(counter: unknown): { name: string; offset: number } {
  const { name, offset } = (counter ?? {}) as Partial<TorchStorage['refCounter']>
  // Bytes that are no UTF-8 name no file of PyTorch's.
  const text = name instanceof Uint8Array ? new TextDecoder().decode(name) : name
  if (typeof text !== 'string' || typeof offset !== 'number') {
    throw typeError('invalid-ref-counter', 'openTorchStorage: refCounter must be { name, offset }: the name of a file (text, or its bytes), and a number')
  }
  if (!Number.isSafeInteger(offset) || offset < 0) throw typeError('invalid-ref-counter', `openTorchStorage: a counter's offset is an integer from 0, not ${offset}`)
  return { name: text, offset }
}

function eventBytes(event: unknown): Uint8Array {
  if (event === undefined) throw typeError('invalid-torch-share', 'openTorchStorage: eventSyncRequired, and no event')
  const bytes = asBytes(event, 'event')
  if (bytes.length === EVENT_NBYTES) return bytes
  throw new HandleError('bad-handle-length', `openTorchStorage: the handle of a CUDA event has ${EVENT_NBYTES} bytes, not ${bytes.length}`)
}
