import type { Device } from './device.ts'

/** @internal What a constructor takes instead of a size where the memory exists already. A class: nobody else can make one. */
export abstract class Held {
  abstract readonly device: Device
  abstract readonly nbytes: number
  abstract readonly offset: number
  abstract readonly readOnly: boolean
  abstract readonly unchecked: readonly string[]
  /** Whoever owns the bytes, where that is not this package: it lives as long as the memory. */
  readonly owner?: unknown
  /** Gets the native claim, whose net is `holder`'s finalizer, and its ledger record. The fields above count after it. */
  abstract acquire(holder: object): Claimed
}

/** @internal */
export interface Claimed {
  claim: number
  record: number
}
