import { StateError, rangeError } from '../errors.ts'
import { toHex } from './bytes.ts'
import type { Core } from './core.ts'
import { MESSAGES, VERDICTS, type VerdictName } from './names.generated.ts'

/** What a claim is for. */
export const CLAIM_KINDS = ['', 'allocation', 'export', 'mapping', 'view', 'lease', 'event'] as const
export type ClaimKind = Exclude<(typeof CLAIM_KINDS)[number], ''>

/** One live claim. */
export interface LedgerRecord {
  claim: number
  kind: ClaimKind
  /** 32 hexadecimal digits. */
  allocationId: string
  /** Bytes. */
  nbytes: number
  /** Milliseconds since 1970. */
  opened: number
  /** The registry's number for it. */
  token: number
}

/** The books of one environment, kept in a core. A core has one. */
export class Ledger {
  readonly #core: Core

  /**
   * Empties the core's books.
   *
   * @param seed - 16 random bytes: the random part of this environment's allocation ids, and the hash key
   * @param maxRecords - how many live claims it takes; 2^24 by default
   */
  constructor(core: Core, seed: Uint8Array, maxRecords = 0) {
    if (seed.length !== 16) throw rangeError('invalid-seed', `the seed must be 16 bytes, not ${seed.length}`)
    this.#core = core
    core.u8.set(seed, core.scratchAt)
    core.exports.ledgerReset(core.scratchAt, maxRecords)
    core.u8.fill(0, core.scratchAt, core.scratchAt + 16)
  }

  /** Writes the next allocation id (16 bytes) at an address of the core. */
  nextId(at: number): void {
    this.#core.exports.ledgerNextId(at)
  }

  /**
   * Enters a claim.
   *
   * @param idAt - address of the allocation id in the core
   * @returns the claim, a number that is never used twice
   * @throws StateError `ledger-full`
   */
  add(kind: ClaimKind, idAt: number, nbytes: number, token: number, now: number): number {
    const claim = this.#core.exports.ledgerAdd(CLAIM_KINDS.indexOf(kind), idAt, nbytes, token, now)
    if (claim < 0) throw new StateError(VERDICTS[-claim]!, MESSAGES[-claim]!)
    return claim
  }

  /** Ends a claim; `double-close` or `unknown-claim` where it is not live. */
  end(claim: number): VerdictName {
    return VERDICTS[this.#core.exports.ledgerEnd(claim)]!
  }

  /** `ok`: live here; `stale-handle`: ours and freed; `never-issued`: ours by name but forged; `unknown-claim`: another's. */
  status(idAt: number): VerdictName {
    return VERDICTS[this.#core.exports.ledgerStatus(idAt)]!
  }

  /** Live claims, of one kind or of all. */
  count(kind?: ClaimKind): number {
    return this.#core.exports.ledgerCount(kind === undefined ? 0 : CLAIM_KINDS.indexOf(kind))
  }

  /** Every live claim: the leak report. */
  records(): LedgerRecord[] {
    const { exports, listAt, listSize } = this.#core
    const records: LedgerRecord[] = []
    for (let from = 0; ; ) {
      const count = exports.ledgerList(from, listAt, listSize)
      if (count <= 0) return records
      const u8 = this.#core.u8
      const view = new DataView(u8.buffer)
      for (let at = listAt; at < listAt + count * 56; at += 56) {
        records.push({
          claim: view.getFloat64(at, true),
          token: view.getFloat64(at + 8, true),
          nbytes: view.getFloat64(at + 16, true),
          opened: view.getFloat64(at + 24, true),
          allocationId: toHex(u8.subarray(at + 32, at + 48)),
          kind: CLAIM_KINDS[view.getUint32(at + 48, true)] as ClaimKind,
        })
        from = view.getUint32(at + 52, true) + 1
      }
    }
  }
}

