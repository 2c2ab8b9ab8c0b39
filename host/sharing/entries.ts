/** What an exporter says about its publications: checked by the importer, and as users see it. */
import { decodeArray } from '../core/array.ts'
import { toHex, toUuid } from '../core/bytes.ts'
import type { ArrayMetadata } from '../core/seal.ts'
import { environment } from '../environment.ts'
import { PeerError } from '../errors.ts'
import type { SessionLease } from './lease.ts'
import { metadataFrom, type Metadata } from './metadata.ts'
import type { Entry, Opened } from './protocol.ts'

/** A published name. */
export interface Listing {
  readonly name: string
  readonly nbytes: number
  /** Bytes from the beginning of the export that it is a range of. */
  readonly offset: number
  /** The export's allocation: names that have it in common share one mapping. */
  readonly allocationId: string
  readonly device: { readonly backend: string; readonly uuid: string }
  /** Live leases of all sessions on the export. */
  readonly leases: number
  readonly array: ArrayMetadata | undefined
  readonly metadata: Metadata | undefined
}

/** What an open asks for: a name, or a kept envelope's allocation. */
export type Asked = { name?: string; allocation?: Uint8Array }

/** A lease that is new has an envelope, one that is known has none, and its array fits. */
export function checkOpened({ lease, entry, envelope }: Opened, leases: ReadonlyMap<number, SessionLease>): void {
  if (envelope !== undefined && leases.has(lease)) throw new PeerError('protocol', 'the exporter gave the same lease twice')
  checkEntry(entry)
  const known = leases.get(lease)
  if (known !== undefined) checkInside(entry, known)
}

/** What is cut from a mapping without asking anybody must lie in it. */
export function checkInside({ name, allocation, offset, nbytes }: Entry, lease: SessionLease): void {
  if (toHex(allocation) !== lease.allocationId || offset + nbytes > lease.nbytes) {
    throw new PeerError('protocol', `the range of '${name}' is not inside its export`)
  }
}

/** It is what was asked for. */
export function checkAnswers(entry: Entry, { name, allocation }: Asked): void {
  if ((name !== undefined && entry.name !== name) || (allocation !== undefined && toHex(entry.allocation) !== toHex(allocation))) {
    throw new PeerError('protocol', 'the exporter answered an open with something else')
  }
}

function checkEntry({ name, offset, nbytes, array }: Entry): void {
  if (!Number.isSafeInteger(offset + nbytes)) throw new PeerError('protocol', `the range of '${name}' overflows`)
  if (array !== undefined && environment().core.validateArray(array, nbytes) !== 'ok') throw new PeerError('protocol', `the array of '${name}' does not fit into its range`)
}

/** An entry as users see it. */
export function listing(entry: Entry): Listing {
  const { name, nbytes, offset, allocation, backend, device, leases, array, metadata } = entry
  checkEntry(entry)
  return {
    name, nbytes, offset, allocationId: toHex(allocation), device: { backend, uuid: toUuid(device) }, leases,
    array: array === undefined ? undefined : decodeArray(array), metadata: metadata === undefined ? undefined : metadataFrom(metadata),
  }
}

/** The entries of each export. */
export function byExport(entries: readonly Entry[]): Entry[][] {
  const groups = new Map<number, Entry[]>()
  for (const entry of entries) {
    checkEntry(entry)
    const group = groups.get(entry.export)
    if (group === undefined) groups.set(entry.export, [entry])
    else group.push(entry)
  }
  return [...groups.values()]
}
