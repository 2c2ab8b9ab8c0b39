/**
 * What one environment (a main thread, a worker) has one of: a core with the books in it, and the addon.
 * Made at first use, so that importing the package loads no native code.
 */
import { addon, type NativeAddon, type ProcessIdentity } from './addon.ts'
import { Core } from './core/core.ts'
import { Ledger, type ClaimKind } from './core/ledger.ts'
import { checked } from './errors.ts'
import { variable } from './variables.ts'

export interface Environment {
  readonly core: Core
  readonly native: NativeAddon
  readonly books: Books
  readonly process: ProcessIdentity
}

/** Who wants to know when the last claim on something is gone: closed, or ended by a finalizer. */
export interface Watcher {
  /** A view holds the same memory from now on. */
  joined(claim: number): void
  ended(claim: number): void
}

/** The ledger, together with what native finalizers did behind its back. */
export class Books {
  readonly ledger: Ledger
  readonly #native: NativeAddon
  readonly #watchers = new Map<number, Watcher>()
  #added = 0

  constructor(ledger: Ledger, native: NativeAddon) {
    this.ledger = ledger
    this.#native = native
  }

  /** Enters a native claim; where the ledger refuses it, the native claim is ended before the error goes on. */
  add(kind: ClaimKind, idAt: number, nbytes: number, claim: number): number {
    if ((++this.#added & 255) === 0) this.sweep()
    try {
      return this.ledger.add(kind, idAt, nbytes, claim, Date.now())
    } catch (error) {
      this.#native.end(claim)
      throw error
    }
  }

  /** Ends a claim in both books. */
  end(record: number, claim: number): void {
    this.ledger.end(record)
    this.#native.end(claim)
    this.#tell(claim)
  }

  /** `watcher` is told of this claim's end, and of the views that are made from it. */
  watch(claim: number, watcher: Watcher): void {
    this.#watchers.set(claim, watcher)
  }

  /** A view's claim: whoever watches the memory's claim watches it too. */
  join(claim: number, view: number): void {
    const watcher = this.#watchers.get(claim)
    if (watcher === undefined) return
    this.#watchers.set(view, watcher)
    watcher.joined(view)
  }

  /** Takes out of the ledger what garbage collection ended: objects that nobody closed, and views. */
  sweep(): void {
    const ended = this.#native.drainEnded()
    if (ended.length === 0) return
    const tokens = new Set(ended)
    for (const { claim, token } of this.ledger.records()) if (tokens.has(token)) this.ledger.end(claim)
    for (const claim of ended) this.#tell(claim)
  }

  #tell(claim: number): void {
    if (this.#watchers.size === 0) return
    const watcher = this.#watchers.get(claim)
    if (watcher === undefined) return
    this.#watchers.delete(claim)
    watcher.ended(claim)
  }
}

let current: Environment | undefined

export function environment(): Environment {
  return (current ??= start())
}

function start(): Environment {
  const native = addon()
  const core = new Core()
  // Tests make the ledger small to see what happens when it is full.
  const limit = Number(variable('USM_IPC_LEDGER_LIMIT') ?? 0)
  const ledger = new Ledger(core, crypto.getRandomValues(new Uint8Array(16)), Number.isSafeInteger(limit) && limit > 0 ? limit : 0)
  return { core, native, books: new Books(ledger, native), process: checked(() => native.processIdentity()) }
}
