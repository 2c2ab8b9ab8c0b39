/** Events that processes share: one records, the others wait for the device. */
import { setTimeout as sleep } from 'node:timers/promises'
import { HEADER, MESSAGES, SECTIONS, VERDICTS } from './core/names.generated.ts'
import { nameBytes, Sealer } from './core/seal.ts'
import { checkSignal } from './copy.ts'
import { selectDevice, type Device } from './device.ts'
import { environment } from './environment.ts'
import { HandleError, StateError, checked, rangeError, typeError } from './errors.ts'
import { eventTimeout, timedOut } from './event_wait.ts'
import { keyRecord, type EnvelopeKey } from './keys.ts'
import { deviceToOpenOn, envelopeBytes, validateFor } from './envelope.ts'
import { checkOptions } from './options.ts'
import { HANDLE_CAPACITY, exporterFields } from './sealing.ts'

export interface EventExportOptions {
  /** For people and logs: 1 to 255 bytes of UTF-8, no control characters. Not secret. */
  name?: string
  /** Milliseconds from now after which nobody opens it any more. Never, where it is left out. */
  ttl?: number
  /** The envelope gets a tag that this key makes. */
  key?: EnvelopeKey
}

export interface EventOpenOptions {
  /** The envelope's tag must be that of one of these keys. */
  keys?: readonly EnvelopeKey[]
  /** Refuse envelopes without a tag, and tags that `keys` does not check. */
  requireAuthentication?: boolean
}

export interface EventWaitOptions {
  /** Milliseconds; 10,000 where it is left out. */
  timeoutMs?: number
  signal?: AbortSignal
}

/** @internal The way from an event to its claim. */
export const eventClaim: unique symbol = Symbol('usm-ipc.event-claim')

/** The wire format's size of an event, in bytes. */
const EVENT_NBYTES = 64
/** How soon `wait` asks again, in milliseconds: at once, and then more and more rarely. */
const PAUSES_MS = [0, 0, 0, 0, 1, 1, 2, 5]

const STALE = VERDICTS.indexOf('stale-handle')
const NEVER_ISSUED = VERDICTS.indexOf('never-issued')

/** What a constructor takes where the event comes from an envelope. A class: nobody else can make one. */
class EventOpening {
  readonly device: Device
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array, device: Device) {
    this.#bytes = bytes
    this.device = device
  }

  /** The envelope, which is valid and still in the core, becomes a claim. */
  acquire(holder: object): { claim: number; id: Uint8Array } {
    const { core, native } = environment()
    const at = core.inputAt
    const idAt = at + HEADER.allocation_random
    const status = core.exports.ledgerStatus(idAt)
    if (status === STALE || status === NEVER_ISSUED) throw new HandleError(VERDICTS[status]!, MESSAGES[status]!, HEADER.allocation_random)
    const view = new DataView(core.u8.buffer)
    const handle = at + view.getUint16(at + HEADER.header_length, true) + 8
    const { backendIndex, index } = this.device
    const length = view.getUint32(handle - 4, true)
    const claim = checked(() => native.openEvent(backendIndex, index, core.u8, handle, length, idAt, holder))
    return { claim, id: this.#bytes.slice(HEADER.allocation_random, HEADER.allocation_random + 16) }
  }
}

/**
 * An event of a device that processes share: CUDA's interprocess event. Recorded behind some work, it is done when that
 * is; before anything was recorded, it is done.
 *
 * @example
 * ```ts
 * import { IPCEvent, listBackends } from 'usm-ipc'
 *
 * if (listBackends().some(({ backend, available }) => backend === 'cuda' && available)) {
 *   using event = new IPCEvent({ device: 'cuda' })
 *   event.record() // behind what the default stream has to do
 *   const bytes = event.toBytes() // for another process: IPCEvent.open(bytes, 'cuda')
 *   await event.wait()
 *   console.assert(event.query() && bytes.length > 64)
 * }
 * ```
 */
export class IPCEvent {
  readonly device: Device
  #claim = 0
  #record = 0
  /** 16 bytes */
  readonly #id: Uint8Array

  /** @throws StateError `ERR_USM_IPC_NO_EVENTS` where the backend has no events that processes share (all but CUDA) */
  constructor(options?: { device?: Device | string })
  /** @internal */
  constructor(options: { device?: Device | string } | EventOpening = {}) {
    const { core, native, books } = environment()
    if (options instanceof EventOpening) {
      this.device = options.device
      const { claim, id } = options.acquire(this)
      this.#claim = claim
      this.#id = id
    } else {
      checkOptions(options, ['device'], 'new IPCEvent')
      this.device = selectDevice(options.device)
      const { backendIndex, index } = this.device
      books.ledger.nextId(core.scratchAt)
      this.#claim = checked(() => native.createEvent(backendIndex, index, core.u8, core.scratchAt, this))
      this.#id = core.u8.slice(core.scratchAt, core.scratchAt + 16)
    }
    try {
      core.u8.set(this.#id, core.scratchAt)
      this.#record = books.add('event', core.scratchAt, EVENT_NBYTES, this.#claim)
    } catch (error) {
      this.#claim = 0
      throw error
    }
  }

  get isClosed(): boolean {
    return this.#claim === 0
  }

  /** Records what the stream has been given so far. @param stream - CUDA's handle of it (CUstream); 0n is the default stream */
  record(stream = 0n): void {
    const claim = this[eventClaim]('record')
    checkStream(stream, 'record')
    checked(() => environment().native.eventRecord(claim, stream))
  }

  /** Whether what was recorded last is done; true where nothing was. */
  query(): boolean {
    const claim = this[eventClaim]('query')
    return checked(() => environment().native.eventQuery(claim))
  }

  /**
   * Resolves when what was recorded last is done. What a process had recorded that died before its device was through is
   * never done (seen with driver 580): only the timeout ends that.
   *
   * @throws PeerError `ERR_USM_IPC_TIMEOUT`; StateError where it is closed meanwhile; the signal's reason
   */
  async wait(options: EventWaitOptions = {}): Promise<void> {
    checkOptions(options, ['timeoutMs', 'signal'], 'wait')
    const { signal } = options
    checkSignal(signal, 'wait')
    const timeoutMs = eventTimeout(options.timeoutMs, 'wait')
    const started = performance.now()
    for (let asked = 0; ; asked++) {
      signal?.throwIfAborted()
      if (this.query()) return
      const left = timeoutMs - (performance.now() - started)
      if (left <= 0) throw timedOut(timeoutMs, 'wait')
      await sleep(Math.min(PAUSES_MS[Math.min(asked, PAUSES_MS.length - 1)]!, left))
    }
  }

  /** What the stream is given from now on waits, on the device, until what was recorded last is done. Returns at once. */
  waitOn(stream: bigint): void {
    const claim = this[eventClaim]('waitOn')
    checkStream(stream, 'waitOn')
    checked(() => environment().native.eventWait(claim, stream))
  }

  /** An envelope of kind *event*, for `IPCEvent.open` in another process. */
  toBytes(options: EventExportOptions = {}): Uint8Array {
    checkOptions(options, ['name', 'ttl', 'key'], 'toBytes')
    const { name, ttl, key } = options
    const named = name === undefined ? undefined : nameBytes(name)
    const record = key === undefined ? undefined : keyRecord(key, 'toBytes: key')
    try {
      return this.#seal(named, ttl, record)
    } finally {
      record?.fill(0)
    }
  }

  #seal(name: Uint8Array | undefined, ttl: unknown, record: Uint8Array | undefined): Uint8Array {
    const claim = this[eventClaim]('toBytes')
    const { core, native, process } = environment()
    const sealer = new Sealer(core, {
      kind: 'event',
      backend: this.device.backend,
      layout: 'cuda-event',
      deviceUuid: this.device.uuidBytes,
      allocationSize: EVENT_NBYTES,
      offset: 0,
      nbytes: EVENT_NBYTES,
      allocationId: this.#id,
      ...exporterFields(process, ttl),
    })
    const length = checked(() => native.getEvent(claim, core.u8, sealer.nextBytesAt, HANDLE_CAPACITY))
    sealer.sectionInPlace(SECTIONS.handle, 1, length)
    if (name !== undefined) sealer.section(SECTIONS.name, 0, name)
    return sealer.end(record)
  }

  /** Ends this claim; the driver's event goes with its last one. What waits for it on a device goes on waiting. Idempotent. */
  close(): void {
    if (this.#claim === 0) return
    const claim = this.#claim
    this.#claim = 0
    environment().books.end(this.#record, claim)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `IPCEvent { device: ${this.device.selector}, closed: ${this.isClosed} }`
  }

  /** @internal */
  [eventClaim](what: string): number {
    if (this.#claim === 0) throw new StateError('closed', `${what}: this event is closed`)
    return this.#claim
  }

  /**
   * Opens an event of another process; of this one, too.
   *
   * @param bytes - what `toBytes()` gave, or its text form
   * @param device - the device of this process that it is of (same UUID), or a selector
   * @throws HandleError with the verdict; DriverError
   */
  static open(bytes: Uint8Array | string, device: Device | string, options: EventOpenOptions = {}): IPCEvent {
    checkOptions(options, ['keys', 'requireAuthentication'], 'IPCEvent.open')
    const on = deviceToOpenOn(device)
    const envelope = envelopeBytes(bytes)
    validateFor('event', envelope, on, undefined, options)
    return new IPCEvent(new EventOpening(envelope, on) as { device?: Device })
  }
}

function checkStream(stream: unknown, what: string): void {
  if (typeof stream !== 'bigint') throw typeError('invalid-stream', `${what}: a stream is a bigint (CUDA's handle of it), not ${typeof stream}`)
  if (BigInt.asUintN(64, stream) !== stream) throw rangeError('invalid-stream', `${what}: a stream is from 0 to 2^64-1`)
}
