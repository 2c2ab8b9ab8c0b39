/** The importer's side of a lease: what is open under it, by which names, and when it is over. */
import type { NativeAddon } from '../addon.ts'
import { toHex } from '../core/bytes.ts'
import type { Device } from '../device.ts'
import { environment, type Watcher } from '../environment.ts'
import { fromNative, type PeerError } from '../errors.ts'
import { Held, type Claimed, type Described, type Lease } from '../held.ts'
import { MemoryIPCDevice } from '../memory.ts'
import type { EnvelopeOpening } from '../open.ts'
import { metadataFrom } from './metadata.ts'
import type { Entry } from './protocol.ts'

/** The addon's kind of claim for a mapping. */
const MAPPING = 3

/** A range of a mapping, by a name or (as an envelope that was kept) without one. */
export type Range = Pick<Entry, 'offset' | 'nbytes' | 'array' | 'metadata'> & { readonly name: string | undefined }

/** One lease of a session: one mapping, cut into as many memories as are opened. */
export class SessionLease implements Watcher {
  readonly id: number
  readonly allocationId: string
  /** Names that may be cut from it without asking the exporter. */
  readonly entries = new Map<string, Entry>()
  readonly #shares = new Map<string | undefined, Share>()
  readonly #allocation: Uint8Array
  /** Every share that was handed out, those that are withdrawn too. */
  readonly #handedOut = new Set<Share>()
  /** Claims on the mapping: memories and their views. */
  readonly #holds = new Map<number, WeakRef<object> | undefined>()
  readonly #over: (lease: SessionLease) => void
  #opening: EnvelopeOpening | undefined
  #isOver = false

  /** @param over - called once, when the last claim has ended */
  constructor(id: number, allocation: Uint8Array, over: (lease: SessionLease) => void) {
    this.id = id
    this.#allocation = allocation
    this.allocationId = toHex(allocation)
    this.#over = over
  }

  /** The names that were opened under it. */
  get names(): string[] {
    return [...this.#shares.keys()].filter((name) => name !== undefined)
  }

  /** Bytes of the whole export. */
  get nbytes(): number {
    return this.#opening?.nbytes ?? 0
  }

  get device(): Device | undefined {
    return this.#opening?.device
  }

  /** Where the export begins in the driver's base allocation, in bytes. */
  get offset(): number {
    return this.#opening?.offset ?? 0
  }

  /** There is a mapping that more can be cut from, unless its holders were all collected. */
  get isOpen(): boolean {
    return this.#holds.size > 0
  }

  /** The envelope is valid: from here on the export's size and place are known. */
  expect(opening: EnvelopeOpening): void {
    this.#opening = opening
  }

  /** What a first memory is made of, through the driver. */
  first(range: Range): Held {
    const opening = this.#opening!
    return new LeasedRange(this.#share(range.name), opening, range, (holder) => this.#hold(opening.acquire(holder), holder))
  }

  /** What a further one is made of, cut from what is mapped: making it throws `Collected` where that is no more. */
  further(range: Range): Held {
    return new LeasedRange(this.#share(range.name), this.#opening!, range, (holder) => this.#hold(this.#cut(holder, range.nbytes), holder))
  }

  /** Over, where nothing was opened under it after all. */
  endIfIdle(): void {
    if (this.#holds.size === 0) this.#end()
  }

  /** The memories that are open, as far as they were not collected. */
  memories(): object[] {
    return [...this.#holds.values()].map((ref) => ref?.deref()).filter((memory) => memory !== undefined)
  }

  joined(claim: number): void {
    this.#holds.set(claim, undefined)
  }

  ended(claim: number): void {
    this.#holds.delete(claim)
    this.endIfIdle()
  }

  /**
   * The exporter serves this name no longer. Gives what is revoked with it: what was opened by the name, and what was opened
   * by envelopes that were kept, as that may be the same bytes.
   */
  withdraw(name: string, reason: PeerError | undefined): Lease[] {
    this.entries.delete(name)
    const revoked: Share[] = []
    for (const one of reason === undefined ? [name] : [name, undefined]) {
      const share = this.#shares.get(one)
      this.#shares.delete(one) // a later publication of that name is another one
      if (reason === undefined || share === undefined) continue
      share.become('revoked', reason)
      revoked.push(share)
    }
    return revoked
  }

  /** Everything that was opened under it is revoked, by names that were withdrawn before, too. */
  revokeAll(reason: PeerError): Lease[] {
    this.entries.clear()
    const revoked = [...this.#handedOut].filter(({ state }) => state === 'live')
    for (const share of revoked) share.become('revoked', reason)
    return revoked
  }

  /** The exporter is gone: what is mapped stays until it is closed. */
  orphan(reason: PeerError): void {
    this.entries.clear()
    for (const share of this.#handedOut) share.become('exporter-gone', reason)
  }

  /** It holds nothing by the exporter any more. */
  abandon(): void {
    for (const share of this.#handedOut) share.release()
  }

  #share(name: string | undefined): Share {
    let share = this.#shares.get(name)
    if (share === undefined) {
      this.#shares.set(name, (share = new Share(this, name, this.#opening!.mappingStaysValid)))
      this.#handedOut.add(share)
    }
    return share
  }

  #hold(claimed: Claimed, holder: object): Claimed {
    this.#holds.set(claimed.claim, new WeakRef(holder))
    environment().books.watch(claimed.claim, this)
    return claimed
  }

  #cut(holder: object, nbytes: number): Claimed {
    const { core, native, books } = environment()
    for (const live of this.#holds.keys()) {
      const claim = furtherClaim(native, live, holder)
      if (claim === undefined) continue
      core.u8.set(this.#allocation, core.scratchAt)
      return { claim, record: books.add('mapping', core.scratchAt, nbytes, claim) }
    }
    books.sweep()
    throw new Collected()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.abandon()
    this.#over(this)
    this.entries.clear()
  }
}

// Everything that held a lease's mapping has been collected, and so the lease is over.
class Collected extends Error {}

// Undefined: the claim has ended. A finalizer ends one at any moment, a view's even on another thread.
function furtherClaim(native: NativeAddon, of: number, holder: object): number | undefined {
  try {
    return native.claim(of, MAPPING, holder)
  } catch (error) {
    if ((error as { reason?: unknown }).reason === 'unknown-claim') return undefined
    throw fromNative(error)
  }
}

/** What `memory.lease` is: the lease, by one of its names. */
class Share implements Lease {
  readonly name: string | undefined
  readonly mappingStaysValid: boolean
  readonly #lease: SessionLease
  #state: Lease['state'] = 'live'
  #reason: PeerError | undefined
  #aborter: AbortController | undefined

  constructor(lease: SessionLease, name: string | undefined, mappingStaysValid: boolean) {
    this.#lease = lease
    this.name = name
    this.mappingStaysValid = mappingStaysValid
  }

  get id(): number {
    return this.#lease.id
  }

  get allocationId(): string {
    return this.#lease.allocationId
  }

  get nbytes(): number {
    return this.#lease.nbytes
  }

  get state(): Lease['state'] {
    return this.#state
  }

  get signal(): AbortSignal {
    if (this.#aborter === undefined) {
      this.#aborter = new AbortController()
      if (this.#reason !== undefined) this.#aborter.abort(this.#reason)
    }
    return this.#aborter.signal
  }

  become(state: 'revoked' | 'exporter-gone', reason: PeerError): void {
    if (this.#state === 'released') return
    this.#state = state
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#aborter?.abort(reason)
  }

  release(): void {
    this.#state = 'released'
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `Lease { id: ${this.id}, state: '${this.#state}' }`
  }
}

class LeasedRange extends Held {
  readonly device: Device
  readonly nbytes: number
  readonly offset: number
  readonly readOnly: boolean
  readonly unchecked: readonly string[]
  override readonly lease: Share
  override readonly description: Described
  readonly #claim: (holder: object) => Claimed

  constructor(lease: Share, opening: EnvelopeOpening, range: Range, claim: (holder: object) => Claimed) {
    super()
    this.lease = lease
    this.device = opening.device
    this.readOnly = opening.readOnly
    this.unchecked = opening.unchecked
    this.offset = opening.offset + range.offset
    this.nbytes = range.nbytes
    const { name, array, metadata } = range
    this.description = { name, array, metadata: metadata && (() => metadataFrom(metadata)) }
    this.#claim = claim
  }

  acquire(holder: object): Claimed {
    return this.#claim(holder)
  }
}

/** A further memory of what is mapped; undefined where that was collected meanwhile. */
export function cut(lease: SessionLease, range: Range): MemoryIPCDevice | undefined {
  try {
    return new MemoryIPCDevice(lease.further(range))
  } catch (error) {
    if (error instanceof Collected) return undefined
    throw error
  }
}
