/** What an exporter publishes, as people and scripts read it. */
import { describeArray } from '../array.ts'
import { printable } from '../arguments.ts'
import type { Listing } from '../sharing/entries.ts'
import { bold, size, table } from './output.ts'

export interface ListedName {
  name: string
  nbytes: number
  dtype: string | null
  shape: readonly number[] | null
  offset: number
  leases: number
  device: { backend: string; uuid: string }
  allocationId: string
  metadata?: unknown
}

export function listed({ name, nbytes, offset, allocationId, device, leases, array, metadata }: Listing): ListedName {
  const described = array === undefined ? undefined : describeArray(array, nbytes)
  return {
    name, nbytes, dtype: described === undefined ? null : (described.dtype ?? `code ${described.code}, ${described.bits} bits`),
    shape: described?.shape ?? null, offset, leases, device, allocationId, ...(metadata === undefined ? {} : { metadata }),
  }
}

/** One row a name; `more` adds columns. */
export function listingTable(names: readonly ListedName[], more: { title: string; of: (name: ListedName) => string }[] = []): string {
  return table([
    ['NAME', 'DTYPE', 'SHAPE', 'SIZE', ...more.map((m) => m.title)],
    ...names.map((n) => [printable(n.name), n.dtype ?? '-', n.shape === null ? '-' : `[${n.shape.join(', ')}]`, size(n.nbytes), ...more.map((m) => m.of(n))]),
  ]).replace(/^.*$/m, bold)
}

/** Bytes of all names together; ranges that overlap count twice. */
export function totalBytes(names: readonly { nbytes: number }[]): number {
  return names.reduce((sum, { nbytes }) => sum + nbytes, 0)
}
