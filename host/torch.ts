/** CUDA memory that PyTorch shared: its tuple, its event, its reference counter. */
import { asBytes, checkNbytes } from './arguments.ts'
import { selectDevice, type Device } from './device.ts'
import { environment } from './environment.ts'
import { checked, typeError } from './errors.ts'
import { waitForEvent, EVENT_TIMEOUT_MS } from './event_wait.ts'
import { Held, type Claimed } from './held.ts'
import { MemoryIPCDevice } from './memory.ts'
import { VendorOpening } from './open.ts'
import { checkOptions } from './options.ts'

/** What `torch.UntypedStorage._share_cuda_()` gives (PyTorch 2.11), by name. */
export interface TorchShare {
  /** 66 bytes: PyTorch's version and type, and CUDA's handle of the whole segment. */
  handle: Uint8Array
  /** Of the storage. */
  nbytes: number
  /** Where the storage begins in the segment, in bytes. */
  offset: number
  /** The file of shared memory that has the counter, with its leading slash, and the counter's number in it. */
  refCounter: { name: string | Uint8Array; offset: number }
  /** 64 bytes: CUDA's handle of an event behind the producer's work. */
  event?: Uint8Array
  /** Whether the event is to be waited for. */
  eventSyncRequired?: boolean
}

/** The same as PyTorch's own tuple: device number of the producer, handle, nbytes, offset, counter's file, its number, event, whether to wait. */
export type TorchTuple = readonly [
  device: number, handle: Uint8Array, nbytes: number, offset: number, refCounterName: string | Uint8Array, refCounterOffset: number,
  event: Uint8Array, eventSyncRequired: boolean,
]

/** The layout's number of an event's handle. */
const EVENT_LENGTH = 64

/**
 * Opens CUDA memory that PyTorch shared. When the last claim on it ends, PyTorch's counter is counted down once, as its own
 * consumers do: then the producer may use the memory again. Waits, blocking, for the producer's event where it asks for that.
 *
 * @param share - the tuple of `_share_cuda_()`, or its parts by name
 * @param device - the device of this process that the memory is on; the producer's number of it says nothing here
 * @throws HandleError, RangeError `ERR_USM_IPC_BAD_REF_COUNTER`, DriverError, PeerError `ERR_USM_IPC_TIMEOUT`
 */
export function openTorchStorage(share: TorchShare | TorchTuple, device: Device | string = 'cuda'): MemoryIPCDevice {
  return new MemoryIPCDevice(new TorchOpening(named(share), selectDevice(device)))
}

/** What is collected instead of closed is noticed after so many milliseconds. */
const SWEEP_MS = 250
let open = 0
let sweeper: NodeJS.Timeout | undefined

function sweeping(change: 1 | -1): void {
  open += change
  if (open === 0) {
    clearInterval(sweeper)
    sweeper = undefined
  } else {
    sweeper ??= setInterval(() => environment().books.sweep(), SWEEP_MS).unref()
  }
}

function named(share: TorchShare | TorchTuple): TorchShare {
  if (!Array.isArray(share)) {
    checkOptions(share, ['handle', 'nbytes', 'offset', 'refCounter', 'event', 'eventSyncRequired'], 'openTorchStorage')
    return share as TorchShare
  }
  if (share.length !== 8) throw typeError('invalid-options', `openTorchStorage: PyTorch's tuple has 8 items, not ${share.length}`)
  const [, handle, nbytes, offset, name, counter, event, eventSyncRequired] = share as unknown as TorchTuple
  return { handle, nbytes, offset, refCounter: { name, offset: counter }, event, eventSyncRequired }
}

class TorchOpening extends Held {
  readonly device: Device
  readonly nbytes: number
  readonly offset: number
  readonly readOnly = false
  readonly unchecked: readonly string[]
  readonly #opening: VendorOpening
  readonly #event: Uint8Array | undefined
  readonly #counter: Uint8Array
  readonly #index: number

  constructor({ handle, nbytes, offset, refCounter, event, eventSyncRequired = false }: TorchShare, device: Device) {
    super()
    const bytes = asBytes(handle, 'openTorchStorage: handle')
    const name = refCounter?.name
    if (typeof name !== 'string' && !(name instanceof Uint8Array)) throw typeError('invalid-options', 'openTorchStorage: refCounter is { name, offset }, the file that PyTorch names and a number')
    this.#counter = typeof name === 'string' ? new TextEncoder().encode(name) : name.slice()
    this.#index = refCounter.offset
    if (typeof eventSyncRequired !== 'boolean') throw typeError('invalid-options', 'openTorchStorage: eventSyncRequired must be true or false')
    if (event !== undefined && (!(event instanceof Uint8Array) || event.length !== EVENT_LENGTH)) throw typeError('invalid-event', 'openTorchStorage: event has 64 bytes')
    if (eventSyncRequired && event === undefined) throw typeError('invalid-event', 'openTorchStorage: eventSyncRequired needs the event')
    this.#event = eventSyncRequired ? event!.slice() : undefined
    checked(() => environment().native.torchCounter(this.#counter, this.#index))
    // Last: what it checks stays in the core until acquire().
    this.#opening = new VendorOpening(bytes, device, checkNbytes(nbytes), { layout: 'torch-cuda', offset })
    this.device = device
    this.nbytes = this.#opening.nbytes
    this.offset = this.#opening.offset
    this.unchecked = this.#opening.unchecked
  }

  acquire(holder: object): Claimed {
    const { books } = environment()
    const claimed = this.#opening.acquire(holder)
    let left = 1
    sweeping(1)
    // Views hold the memory, too: the last one to go counts down.
    books.watch(claimed.claim, {
      joined: () => void left++,
      ended: () => {
        if (--left > 0) return
        sweeping(-1)
        this.#countDown()
      },
    })
    try {
      if (this.#event !== undefined) this.#wait(this.#event)
    } catch (error) {
      books.end(claimed.record, claimed.claim)
      throw error
    }
    return claimed
  }

  #wait(handle: Uint8Array): void {
    const { core, native } = environment()
    core.u8.set(handle, core.scratchAt)
    const claim = checked(() => native.openEvent(this.device.backendIndex, this.device.index, core.u8, core.scratchAt, handle.length, -1, {}))
    try {
      waitForEvent(claim, EVENT_TIMEOUT_MS, 'openTorchStorage')
    } finally {
      native.end(claim)
    }
  }

  // Our copies are done when they return. A producer that has ended has taken its counters with it.
  #countDown(): void {
    try {
      environment().native.torchCountDown(this.#counter, this.#index)
    } catch {
      // Closing has nobody to tell: the file was changed since it was looked at.
    }
  }
}
