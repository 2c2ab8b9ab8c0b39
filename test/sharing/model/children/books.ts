/** Both books of this process, and where they contradict each other. */
import { environment } from '../../../../host/environment.ts'
import { ledger } from '../../../../host/index.ts'
import type { Books } from '../protocol.ts'

// What the collector ends is a leak, but for what was dropped on purpose.
let dropped = 0
let collected = 0

export function watchCollector(): void {
  const { books } = environment()
  const sweep = books.sweep.bind(books)
  books.sweep = () => {
    const before = books.ledger.count()
    sweep()
    collected += before - books.ledger.count()
  }
}

export function expectCollected(count: number): void {
  dropped += count
}

export function books(): Books {
  const { live, allocations, exports, mappings, views, records } = ledger()
  const { claims, leases: processLeases, environments, resources } = ledger({ process: true })
  const memory = resources.filter((r) => r.kind !== 'descriptor')
  const counted = new Map<string, [number, number]>()
  for (const { allocationId } of records) {
    const both = counted.get(allocationId) ?? [0, 0]
    counted.set(allocationId, [both[0] + 1, both[1]])
  }
  for (const resource of memory) {
    const both = counted.get(resource.allocationId) ?? [0, 0]
    counted.set(resource.allocationId, [both[0], both[1] + resource.claims])
  }
  return {
    live, allocations, exports, mappings, views, leases: records.filter((r) => r.kind === 'lease').length,
    claims, processLeases, environments, descriptors: resources.length - memory.length,
    disagreement: [...counted].filter(([, [one, other]]) => one !== other).map(([id, [one, other]]) => [id, one, other]),
    leaked: Math.max(0, collected - dropped), resources: memory.map((r) => r.allocationId).sort(),
  }
}
