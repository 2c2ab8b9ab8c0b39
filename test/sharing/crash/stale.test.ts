/** Handles that were kept from a publication that is over, while other memory has its address and its name. */
import test from 'ava'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HEADER } from '../../../host/core/index.ts'
import { decode, encode } from '../../support/child.ts'
import { cudaVariables } from '../../support/backends.ts'
import { forged } from '../../support/forge.ts'
import { onGpu } from '../../support/ipc.ts'
import { Parties, Refused, type Party } from './party.ts'
import { held, holds } from './stage.ts'

const NBYTES = 4096
/** Publications that are over, whose addresses may come back. */
const FREED = 8
/** Allocations until one of them must have. */
const TRIES = 64
/** Times all of that: what a process maps for itself meanwhile may be in the way. */
const ROUNDS = 5

/** `own`: an allocation for itself. `slab`: a part of memory that stays. `pooled`: a block of the runtime's own pool. */
type Kind = 'own' | 'slab' | 'pooled'

const SOFTWARE = { USM_IPC_SOFTWARE_DRIVER: '1' }
const sycl = (v2: '0' | '1', pooled: boolean): Record<string, string> =>
  ({ ...SOFTWARE, SYCL_UR_USE_LEVEL_ZERO_V2: v2, ...(pooled ? { UR_L0_DISABLE_USM_ALLOCATOR: '0' } : {}) })

const RUNS: { title: string; selector: string; kind: Kind; env: Record<string, string>; kept?: number }[] = [
  { title: 'host', selector: 'host', kind: 'own', env: {} },
  { title: 'level_zero, classic', selector: 'level_zero', kind: 'own', env: { ...SOFTWARE, USM_IPC_ZE_HANDLES: 'classic' } },
  { title: 'level_zero, opaque with a mirror', selector: 'level_zero', kind: 'own', env: { ...SOFTWARE, USM_IPC_ZE_HANDLES: 'opaque-mirror' } },
  { title: 'level_zero, blocks of a slab', selector: 'level_zero', kind: 'slab', env: { ...SOFTWARE, USM_IPC_ZE_HANDLES: 'opaque-mirror' } },
  ...(['legacy', 'fd', 'pool'] as const).map((ipc) => ({ title: `cuda, ${ipc}`, selector: 'cuda', kind: 'own' as const, env: cudaVariables(ipc) })),
  { title: 'sycl v1', selector: 'sycl', kind: 'own', env: sycl('0', false), kept: 64 },
  { title: 'sycl v2', selector: 'sycl', kind: 'own', env: sycl('1', false), kept: 64 },
  { title: 'sycl v1, blocks of its pool', selector: 'sycl', kind: 'pooled', env: sycl('0', true), kept: 64 },
  { title: 'sycl v2, blocks of its pool', selector: 'sycl', kind: 'pooled', env: sycl('1', true), kept: 64 },
]

const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-stale-'))
test.after.always(() => rmSync(folder, { recursive: true }))

for (const [number, { title, selector, kind, env, kept = 0 }] of RUNS.filter(({ selector }) => !onGpu || selector === 'cuda').entries()) {
  test.serial(`a handle of freed memory is stale, whatever has its address now: ${title}`, async (t) => {
    const parties = new Parties(selector)
    const [exporter, importer] = [parties.start({ env }), parties.start({ env })]
    const path = join(folder, `${number}.sock`)
    const refused = async (bytes: Uint8Array, code: string, verdict: string | undefined): Promise<void> => {
      const before = await held(importer)
      const refusal = await t.throwsAsync(importer.do({ do: 'open bytes', bytes: encode(bytes), memory: 'refused' }), { instanceOf: Refused })
      t.like({ code: refusal?.code, verdict: refusal?.verdict }, { code: `ERR_USM_IPC_${code}`, verdict })
      await holds(t, importer, before)
    }
    /** Publishes, unpublishes and frees; gives the handles, and the one whose address is used again. */
    async function publications(round = 1): Promise<{ handles: Map<string, Uint8Array>; handle: Uint8Array }> {
      // By address.
      const handles = new Map<string, Uint8Array>()
      for (let i = 0; i < FREED; i++) {
        const address = await allocate(exporter, kind, `first ${i}`, 1, i)
        await exporter.do({ do: 'publish', name: `x ${i}`, memory: `first ${i}` })
        handles.set(address, decode(await exporter.do<string>({ do: 'envelope', memory: `first ${i}` })))
      }
      t.is(handles.size, FREED)
      const [oldest] = [...handles.values()] as [Uint8Array]

      // While it is published it is as good as the name.
      await importer.do({ do: 'open bytes', bytes: encode(oldest), memory: 'by bytes' })
      t.deepEqual(await importer.do({ do: 'check', memory: 'by bytes' }), [1])
      await importer.do({ do: 'open', name: 'x 0', memory: 'by name' })
      const [one, other] = [await importer.do<{ id: number }>({ do: 'lease', memory: 'by bytes' }), await importer.do<{ id: number }>({ do: 'lease', memory: 'by name' })]
      t.is(one.id, other.id)
      await importer.do({ do: 'close memory', memory: 'by name' })

      // Memory that lives on, but that nobody is to open any more.
      for (let i = 0; i < FREED; i++) await exporter.do({ do: 'unpublish', name: `x ${i}`, revoke: true, graceMs: 0 })
      await refused(oldest, 'NO_SUCH_NAME', undefined)

      // Freed, although the importer still has it mapped; an address and the name are other memory's.
      for (let i = 0; i < FREED; i++) await free(exporter, kind, `first ${i}`)
      const address = await allocateAgain(exporter, kind, [...handles.keys()])
      if (!handles.has(address) && round < ROUNDS) {
        await free(exporter, kind, 'second')
        await importer.do({ do: 'close memory', memory: 'by bytes' })
        return publications(round + 1)
      }
      return { handles, handle: handles.get(address)! }
    }

    try {
      if (kind === 'slab') await exporter.do({ do: 'allocate', memory: 'slab', nbytes: 16 * NBYTES, byte: 0 })
      await exporter.do({ do: 'listen', path })
      await importer.do({ do: 'connect', path })
      const { handles, handle } = await publications()
      t.truthy(handle, 'an address was used again')
      await exporter.do({ do: 'publish', name: 'x 0', memory: 'second' })
      await refused(handle, 'STALE_HANDLE', 'stale-handle')
      await importer.do({ do: 'open', name: 'x 0', memory: 'new' })
      t.deepEqual(await importer.do({ do: 'check', memory: 'new' }), [2])
      for (const old of handles.values()) await refused(old, 'STALE_HANDLE', 'stale-handle')
      if (kind === 'own') t.deepEqual(await importer.do({ do: 'check', memory: 'by bytes' }), [1])
      await importer.do({ do: 'close memory', memory: 'by bytes' })
      for (const old of handles.values()) await refused(old, 'STALE_HANDLE', 'stale-handle')

      // Ids that nobody has given, under this exporter's name and under others'.
      const counter = new DataView(handle.buffer, handle.byteOffset).getBigUint64(HEADER.allocation_counter, true)
      await refused(forged(handle, (view) => view.setBigUint64(HEADER.allocation_counter, counter + 1_000_000n, true)), 'NEVER_ISSUED', 'never-issued')
      await refused(forged(handle, (view) => view.setBigUint64(HEADER.allocation_counter, 2n ** 63n, true)), 'NEVER_ISSUED', 'never-issued')
      const random = new DataView(handle.buffer, handle.byteOffset).getBigUint64(HEADER.allocation_random, true)
      await refused(forged(handle, (view) => view.setBigUint64(HEADER.allocation_random, random ^ 1n, true)), 'UNKNOWN_CLAIM', 'unknown-claim')
      t.deepEqual(await importer.do({ do: 'check', memory: 'new' }), [2])

      await importer.do({ do: 'close session' })
      await exporter.do({ do: 'close exporter' })
      await free(exporter, kind, 'second')
      if (kind === 'slab') await exporter.do({ do: 'close memory', memory: 'slab' })
      for (const party of [exporter, importer]) {
        const { live, claims, resources, mappings } = await party.counts()
        // A pool keeps its slabs, a runtime's cache what was closed.
        t.deepEqual({ live, claims, resources }, { live: 0, claims: 0, resources: 0 })
        t.true(mappings <= kept)
      }
    } finally {
      await parties.end()
    }
  })
}

/** Gives its address. */
async function allocate(exporter: Party, kind: Kind, memory: string, byte: number, place: number): Promise<string> {
  const nbytes = NBYTES
  if (kind === 'own') await exporter.do({ do: 'allocate', memory, nbytes, byte })
  else {
    if (kind === 'pooled') await exporter.do({ do: 'allocate', memory: block(memory), nbytes, byte })
    const [of, offset] = kind === 'slab' ? ['slab', place * nbytes] : [block(memory), 0]
    const base = await exporter.do<number>({ do: 'adopt', memory, of, offset, nbytes })
    if (base <= nbytes) throw new Error('this memory is not a part of something larger')
    await exporter.do({ do: 'fill', memory, byte })
  }
  return exporter.do<string>({ do: 'pointer', memory })
}

async function free(exporter: Party, kind: Kind, memory: string): Promise<void> {
  await exporter.do({ do: 'close memory', memory })
  if (kind === 'pooled') await exporter.do({ do: 'close memory', memory: block(memory) })
}

/** The pool's block that a memory is. */
const block = (memory: string): string => `block of ${memory}`

/** Allocates `second` until it has one of the addresses, and frees what has another. */
async function allocateAgain(exporter: Party, kind: Kind, addresses: readonly string[]): Promise<string> {
  const others: string[] = []
  let at: string
  for (;;) {
    at = await allocate(exporter, kind, 'second', 2, 0)
    if (addresses.includes(at) || others.length === TRIES) break
    const other = `other ${others.length}`
    await exporter.do({ do: 'rename memory', memory: 'second', to: other })
    if (kind === 'pooled') await exporter.do({ do: 'rename memory', memory: block('second'), to: block(other) })
    others.push(other)
  }
  for (const memory of others) await free(exporter, kind, memory)
  return at
}
