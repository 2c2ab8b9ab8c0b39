/** What the model's parties are asked, and what they say. JSON over their control channel. */
import type { KernelCounts } from '../../support/counts.ts'
import type { Content } from './pattern.ts'

export type Ask =
  // as an exporter
  | { do: 'listen'; path: string; key?: number }
  | { do: 'allocate'; memory: number; nbytes: number; seed: number }
  | { do: 'publish'; name: string; memory: number; offset: number; nbytes: number; ttl?: number }
  | { do: 'unpublish'; name: string; revoke: boolean; graceMs: number; ticket: number; wait: boolean }
  | { do: 'rewrite'; memory: number; seed: number }
  | { do: 'closeMemory'; memory: number }
  | { do: 'keep'; memory: number; key?: number }
  | { do: 'rotateKey'; key: number }
  | { do: 'closeExporter'; graceMs: number }
  // as an importer
  | { do: 'connect'; session: number; path: string; keys?: number[] }
  | { do: 'list'; session: number }
  | { do: 'open'; session: number; name: string; slot: number; timeoutMs?: number }
  | { do: 'openAll'; session: number; slots: Record<string, number> }
  | { do: 'openKept'; session: number; bytes: string; slot: number }
  | { do: 'closeSlot'; slot: number }
  | { do: 'abandonSlot'; slot: number }
  | { do: 'view'; slot: number; view: number }
  | { do: 'dropView'; view: number }
  | { do: 'closeSession'; session: number }
  // as either
  | { do: 'fork' }
  | { do: 'look' }
  | { do: 'reset' }

/** One memory that was opened. */
export interface Opened {
  slot: number
  nbytes: number
  allocationId: string
  lease: number
}

export interface Reply {
  /** An error's code, without what all have in common. */
  error?: string
  message?: string
  allocationId?: string
  bytes?: string
  opened?: Opened[]
  names?: { name: string; nbytes: number; leases: number; allocationId: string }[]
  pid?: number
  look?: Look
  reset?: Reset
}

export interface Look {
  exporter?: {
    names: { name: string; nbytes: number; allocationId: string; leases: number }[]
    leases: { id: number; allocationId: string; pid: number }[]
    peers: number[]
  }
  /** The tickets of unpublish calls that have ended since the last look, each with an error's code or 'ok'. */
  ended: [ticket: number, how: string][]
  /** Leases that have ended since the last look, each with process.hrtime of that. */
  released: [lease: number, at: string][]
  memories: { memory: number; content: Content }[]
  sessions: { session: number; isClosed: boolean; aborted: string; leases: number[]; revoked: number; goneAt: string }[]
  slots: { slot: number; state: string; aborted: string; content: Content }[]
  views: { view: number; content: Content }[]
  books: Books
}

export interface Books {
  live: number
  allocations: number
  exports: number
  mappings: number
  views: number
  leases: number
  /** Of the process's book. */
  claims: number
  processLeases: number
  environments: number
  descriptors: number
  /** What the two books say of each allocation: [allocation id, claims in the one, claims in the other]. */
  disagreement: [string, number, number][]
  resources: string[]
  /** Claims that nobody ended but the collector, and nobody meant it to. */
  leaked: number
}

export interface Reset extends KernelCounts {
  descriptors: number
  live: number
  claims: number
  resources: number
}
