/** What an exporter has published: exports (one handle each) and the names that are ranges of them. */
import { environment } from '../environment.ts'
import { IPCMemoryHandle, authenticateEnvelope, handleClaim } from '../handle.ts'
import type { EnvelopeKey } from '../keys.ts'
import { memoryAllocation, memoryClaim, type MemoryUSMDevice } from '../memory.ts'
import { fromUuid, toHex } from '../core/bytes.ts'
import type { Entry } from './protocol.ts'

/** One name: a range of an export. */
export interface Publication {
  readonly name: string
  readonly export: Published
  readonly offset: number
  readonly nbytes: number
  readonly array: Uint8Array | undefined
  readonly metadata: Uint8Array | undefined
  /** How long its entry can be at most, in bytes. */
  readonly size: number
  /** Ends it when its time is over. */
  expiry: NodeJS.Timeout | undefined
}

let lastExport = 0

/** One export of one memory, kept alive until its last name and its last lease are gone. */
export class Published {
  readonly number = ++lastExport
  /** What `keyOf` says of its memory. */
  readonly key: string
  readonly names = new Map<string, Publication>()
  readonly leases = new Set<ExportLease>()
  /** 16 bytes */
  readonly allocation: Uint8Array
  readonly nbytes: number
  readonly handle: IPCMemoryHandle
  readonly #deviceUuid: Uint8Array
  #envelope: Uint8Array
  revision = 0
  /** Until when importers were given time, on the clock of performance.now(), and what ends their leases then. */
  graceUntil = 0
  grace: NodeJS.Timeout | undefined
  /** Resolved when the last lease has ended, by whoever waits for it. */
  readonly waiting = new Set<() => void>()

  constructor(key: string, memory: MemoryUSMDevice, envelopeKey: EnvelopeKey | undefined) {
    this.key = key
    this.handle = new IPCMemoryHandle(memory)
    this.allocation = memory[memoryAllocation].id
    this.nbytes = memory.nbytes
    this.#deviceUuid = fromUuid(memory.device.uuid)!
    this.#envelope = this.handle.toBytes()
    if (envelopeKey !== undefined) this.authenticate(envelopeKey)
  }

  get envelope(): Uint8Array {
    return this.#envelope
  }

  /** From here on its envelopes are of this key. */
  authenticate(key: EnvelopeKey): void {
    this.#envelope = authenticateEnvelope(this.#envelope, key)
  }

  /** What makes two memories the same export. */
  static keyOf(memory: MemoryUSMDevice): string {
    const { offset, nbytes } = memory[memoryClaim]('publish')
    return `${toHex(memory[memoryAllocation].id)}:${offset}:${nbytes}`
  }

  entry({ name, offset, nbytes, array, metadata }: Publication): Entry {
    const { allocation, revision, number } = this
    return {
      name, export: number, revision, allocation, backend: this.handle.device.backend, device: this.#deviceUuid, offset, nbytes,
      leases: this.leases.size, array, metadata,
    }
  }

  /** Takes a lease in both books: it keeps the memory whatever becomes of the names. */
  lease(id: number, holder: LeaseHolder): ExportLease {
    const { core, native, books } = environment()
    const claims: object = {}
    const claim = native.claim(this.handle[handleClaim](), LEASE, claims)
    core.u8.set(this.allocation, core.scratchAt)
    const record = books.add('lease', core.scratchAt, this.nbytes, claim)
    const lease: ExportLease = { id, export: this, holder, names: new Set(), isPromised: false, since: Date.now(), claims, claim, record }
    this.leases.add(lease)
    return lease
  }

  /** Ends a lease; whoever waits for the last one is told. Idempotent. */
  end(lease: ExportLease): void {
    if (!this.leases.delete(lease)) return
    environment().books.end(lease.record, lease.claim)
    for (const told of this.waiting) told()
  }

  close(): void {
    this.handle.close()
  }
}

/** The addon's kind of claim for a lease. */
const LEASE = 6

/** Whoever holds leases: a connection. */
export interface LeaseHolder {
  readonly peer: { readonly pid: number; readonly uid: number; readonly gid: number }
  /** A name of the lease is no longer served. */
  withdraw(lease: ExportLease, name: string, revoked: boolean, graceMs: number): void
  /** Everything of the lease is revoked. */
  revoke(lease: ExportLease, graceMs: number): void
  /** The exporter is about to end the lease. */
  forget(lease: ExportLease): void
}

export interface ExportLease {
  readonly id: number
  readonly export: Published
  readonly holder: LeaseHolder
  /** The names that the importer asked for. */
  readonly names: Set<string>
  /** A name that it may know was withdrawn without a revocation: only its holder ends it, or the exporter's end. */
  isPromised: boolean
  /** Milliseconds since 1970. */
  readonly since: number
  /** The native net of the claim: lives as long as the lease. */
  readonly claims: object
  readonly claim: number
  readonly record: number
}
