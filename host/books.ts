import type { LedgerRecord } from './core/ledger.ts'
import { environment } from './environment.ts'
import { checkOptions } from './options.ts'

/** The live claims of this environment (this thread). */
export interface LedgerReport {
  live: number
  allocations: number
  exports: number
  mappings: number
  views: number
  events: number
  records: LedgerRecord[]
}

/** What the whole process holds: the native registry's book, with the claims of every environment. */
export interface ProcessReport {
  /** Claims of all environments and views, descriptors included. */
  claims: number
  /** Those of the claims that are importers' in other processes. */
  leases: number
  environments: number
  /** `allocation`, `mapping`, `descriptor` or `event`; each is closed when its last claim ends. */
  resources: { kind: string; backend: string; nbytes: number; allocationId: string; claims: number; leases: number }[]
}

/**
 * The books. Where every object is closed, both are empty: what is left is a leak.
 *
 * @example
 * ```ts
 * import { ledger, MemoryUSMDevice } from 'usm-ipc'
 *
 * const memory = new MemoryUSMDevice(4096, { device: 'host' })
 * console.assert(ledger().allocations === 1)
 * memory.close()
 * console.assert(ledger().live === 0)
 * ```
 */
export function ledger(options?: { process?: false }): LedgerReport
export function ledger(options: { process: true }): ProcessReport
export function ledger(options: { process?: boolean } = {}): LedgerReport | ProcessReport {
  checkOptions(options, ['process'], 'ledger')
  const { books, native } = environment()
  if (options.process) return native.book()
  books.sweep()
  const { ledger: book } = books
  return {
    live: book.count(),
    allocations: book.count('allocation'),
    exports: book.count('export'),
    mappings: book.count('mapping'),
    views: book.count('view'),
    events: book.count('event'),
    records: book.records(),
  }
}
