/** The ledger with ids as text, and a model of it in plain JavaScript. */
import { fromHex, toHex, type ClaimKind, type Core, type Ledger } from '../../../host/core/index.ts'
import type { Random } from './source.ts'

export const KINDS: ClaimKind[] = ['allocation', 'export', 'mapping', 'view', 'lease', 'event']
const FOREIGN = 'c0ffee0000000001'

/** Little-endian digits of a counter. */
function digits(counter: bigint): string {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, counter, true)
  return toHex(bytes)
}

export class RawLedger {
  readonly core: Core
  readonly ledger: Ledger
  #random: string | undefined

  constructor(core: Core, ledger: Ledger) {
    this.core = core
    this.ledger = ledger
  }

  /** An id of another process. */
  foreign(counter: bigint): string {
    return FOREIGN + digits(counter)
  }

  /** An id as this ledger would issue it as its `counter`th; call nextId before. */
  own(counter: bigint): string {
    if (this.#random === undefined) throw new Error('nothing was issued yet')
    return this.#random + digits(counter)
  }

  nextId(): string {
    const at = this.core.scratchAt
    this.ledger.nextId(at)
    const id = toHex(this.core.u8.slice(at, at + 16))
    this.#random = id.slice(0, 16)
    return id
  }

  /** Puts an id where the core can read it. */
  place(id: string): number {
    this.core.u8.set(fromHex(id)!, this.core.scratchAt)
    return this.core.scratchAt
  }

  add(kind: ClaimKind, id: string, nbytes: number, token: number, now: number): number {
    return this.ledger.add(kind, this.place(id), nbytes, token, now)
  }

  status(id: string): string {
    return this.ledger.status(this.place(id))
  }

  token(id: string): number {
    return this.core.exports.ledgerToken(this.place(id))
  }
}

interface Entry {
  id: string
  kind: ClaimKind
  nbytes: number
  token: number
  opened: number
}

/** Random operations on a ledger and on Maps; each step compares what both say. */
export class LedgerModel {
  /** Verdicts that were given. */
  readonly seen = new Set<string>()
  readonly #raw: RawLedger
  readonly #random: Random
  readonly #ids: number
  readonly #limit: number
  readonly #live = new Map<number, Entry>()
  readonly #ended: number[] = []
  #issued = 0n

  constructor(raw: RawLedger, random: Random, ids: number, limit: number) {
    this.#raw = raw
    this.#random = random
    this.#ids = ids
    this.#limit = limit
  }

  /** What the two disagree on; undefined where they agree. */
  step(): string | undefined {
    const kind = this.#random.below(100)
    // Waves of growth and shrinking.
    const adds = (Math.floor(this.#live.size / 3000) + (this.#ended.length >> 11)) % 2 === 0 ? 55 : 35
    if (kind < adds) return this.#add()
    if (kind < 80) return this.#end()
    if (kind < 84) return this.#garbage()
    if (kind < 88) return this.#issue()
    return this.#status()
  }

  /** The whole of both. */
  compare(): string | undefined {
    const { ledger } = this.#raw
    const records = ledger.records()
    if (ledger.count() !== this.#live.size || records.length !== this.#live.size) return `${ledger.count()} live, ${records.length} listed, not ${this.#live.size}`
    for (const kind of KINDS) {
      const count = [...this.#live.values()].filter((entry) => entry.kind === kind).length
      if (ledger.count(kind) !== count) return `${ledger.count(kind)} of kind ${kind}, not ${count}`
    }
    for (const { claim, kind, allocationId, nbytes, opened, token } of records) {
      const e = this.#live.get(claim)
      if (e === undefined) return `${claim} is listed but not live`
      const same = e.id === allocationId && e.kind === kind && e.nbytes === nbytes && e.opened === opened && e.token === token
      if (!same) return `${claim} is listed as something else`
    }
    return undefined
  }

  #id(): string {
    const n = BigInt(1 + this.#random.below(this.#ids))
    return this.#issued > 0n && this.#random.below(2) === 0 ? this.#raw.own(n) : this.#raw.foreign(n)
  }

  #add(): string | undefined {
    const random = this.#random
    const e: Entry = {
      id: this.#id(), kind: KINDS[random.below(KINDS.length)]!, nbytes: random.int(0, Number.MAX_SAFE_INTEGER), token: 1 + random.below(1e9),
      opened: random.int(0, 2 ** 50),
    }
    const full = this.#limit > 0 && this.#live.size >= this.#limit
    let claim: number
    try {
      claim = this.#raw.add(e.kind, e.id, e.nbytes, e.token, e.opened)
    } catch (error) {
      this.seen.add('ledger-full')
      return full && (error as { code?: string }).code === 'ERR_USM_IPC_LEDGER_FULL' ? undefined : `add: ${(error as Error).message}`
    }
    if (full) return 'add: it was full'
    if (!Number.isSafeInteger(claim) || this.#live.has(claim) || this.#ended.at(-1) === claim) return `claim ${claim} is not new`
    this.#live.set(claim, e)
    return undefined
  }

  #end(): string | undefined {
    const claims = this.#random.below(4) === 0 ? this.#ended : [...this.#live.keys()]
    if (claims.length === 0) return undefined
    const claim = claims[this.#random.below(claims.length)]!
    const expected = this.#live.has(claim) ? 'ok' : 'double-close'
    const verdict = this.#raw.ledger.end(claim)
    this.seen.add(`end ${verdict}`)
    if (this.#live.delete(claim)) this.#ended.push(claim)
    return verdict === expected ? undefined : `end ${claim}: ${verdict}, not ${expected}`
  }

  #garbage(): string | undefined {
    const number = this.#random.int(0, Number.MAX_SAFE_INTEGER) / (this.#random.below(2) === 0 ? 1 : 3)
    if (this.#live.has(number) || this.#ended.includes(number)) return undefined
    const verdict = this.#raw.ledger.end(number)
    this.seen.add(`end ${verdict}`)
    return verdict === 'unknown-claim' ? undefined : `end ${number}: ${verdict}`
  }

  #issue(): string | undefined {
    const id = this.#raw.nextId()
    return id === this.#raw.own(++this.#issued) ? undefined : `id ${id}`
  }

  #status(): string | undefined {
    const issued = Number(this.#issued)
    const id = issued > 0 && this.#random.below(3) === 0 ? this.#raw.own(BigInt(1 + this.#random.below(2 * issued))) : this.#id()
    const live = [...this.#live.values()].filter((e) => e.id === id)
    const own = this.#issued > 0n && id.startsWith(this.#raw.own(0n).slice(0, 16))
    const number = new DataView(fromHex(id)!.buffer).getBigUint64(8, true)
    const expected = live.length > 0 ? 'ok' : !own ? 'unknown-claim' : number <= this.#issued ? 'stale-handle' : 'never-issued'
    const verdict = this.#raw.status(id)
    this.seen.add(`status ${verdict}`)
    if (verdict !== expected) return `status ${id}: ${verdict}, not ${expected}`
    const token = this.#raw.token(id)
    if (live.length === 0 ? token !== 0 : !live.some((e) => e.token === token)) return `token ${token} of ${id}`
    return undefined
  }
}

