import type { Device } from './device.ts'
import type { Metadata } from './sharing/metadata.ts'

/** An importer's claim on an export, held over the session's connection until its last memory is closed. */
export interface Lease {
  /** The exporter's number for it. */
  readonly id: number
  /** 32 hexadecimal digits. */
  readonly allocationId: string
  /** Bytes of the whole export. */
  readonly nbytes: number
  /** The name that the memory was opened by; undefined for an envelope that was kept. */
  readonly name: string | undefined
  /** `revoked`: the exporter asks for the memory to be closed, and may free it after the notice's time. */
  readonly state: 'live' | 'revoked' | 'exporter-gone' | 'released'
  /** Whether the driver keeps what is mapped until it is closed here, whatever the exporter does. */
  readonly mappingStaysValid: boolean
  /** Aborted with a PeerError when the lease is revoked or the exporter is gone. */
  readonly signal: AbortSignal
}

/** @internal What a constructor takes instead of a size where the memory exists already. A class: nobody else can make one. */
export abstract class Held {
  abstract readonly device: Device
  abstract readonly nbytes: number
  abstract readonly offset: number
  abstract readonly readOnly: boolean
  abstract readonly unchecked: readonly string[]
  /** Whoever owns the bytes, where that is not this package: it lives as long as the memory. */
  readonly owner?: unknown
  readonly lease?: Lease | undefined
  /** What the exporter says that it is. */
  readonly description?: Described | undefined
  /** Gets the native claim, whose net is `holder`'s finalizer, and its ledger record. The fields above count after it. */
  abstract acquire(holder: object): Claimed
}

/** @internal */
export interface Described {
  readonly name?: string | undefined
  /** The bytes of an array section that the core has found to fit. */
  readonly array?: Uint8Array | undefined
  readonly metadata?: (() => Metadata) | undefined
}

/** @internal */
export interface Claimed {
  claim: number
  record: number
}
