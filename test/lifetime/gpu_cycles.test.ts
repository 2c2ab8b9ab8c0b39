// 20,000 cycles of allocate, get, send, open, read, close, put and free between two processes, on the software driver: both
// hold at the end what they held at the beginning, and the SYCL runtime keeps no more closed mappings than we say.
import test from 'ava'
import { DEADLINE, hear, startChild } from '../support/child.ts'
import type { Checkpoint } from './children/cycle_exporter.ts'

const CYCLES = 20_000
/** docs/api.md: UMF_MAX_OPENED_IPC_HANDLES. */
const KEPT = 64

const V1 = { SYCL_UR_USE_LEVEL_ZERO_V2: '0' }
const V2 = { SYCL_UR_USE_LEVEL_ZERO_V2: '1' }
const POOLED = { UR_L0_DISABLE_USM_ALLOCATOR: '0' }

const RUNS: { title: string; selector: string; kind: 'own' | 'pooled'; env: Record<string, string>; kept: number }[] = [
  { title: 'level_zero, classic', selector: 'level_zero', kind: 'own', env: { USM_IPC_ZE_HANDLES: 'classic' }, kept: 0 },
  { title: 'level_zero, opaque', selector: 'level_zero', kind: 'own', env: { USM_IPC_ZE_HANDLES: 'opaque' }, kept: 0 },
  { title: 'sycl v2', selector: 'sycl', kind: 'own', env: V2, kept: KEPT },
  { title: 'sycl v2, pooled', selector: 'sycl', kind: 'pooled', env: { ...V2, ...POOLED }, kept: KEPT },
  { title: 'sycl v1', selector: 'sycl', kind: 'own', env: V1, kept: KEPT },
  { title: 'sycl v1, pooled', selector: 'sycl', kind: 'pooled', env: { ...V1, ...POOLED }, kept: KEPT },
]

for (const { title, selector, kind, env, kept } of RUNS) {
  test.serial(`20,000 cycles leave exporter and importer flat: ${title}`, async (t) => {
    const child = startChild(new URL('children/cycle_exporter.ts', import.meta.url), {
      arguments: [selector, String(CYCLES), kind], env: { USM_IPC_SOFTWARE_DRIVER: '1', ...env }, timeoutMs: 4 * DEADLINE,
    })
    try {
      const checkpoints: Checkpoint[] = []
      while (checkpoints.at(-1)?.cycle !== CYCLES) checkpoints.push(await hear<Checkpoint>(child.channel))
      t.is(checkpoints.length, CYCLES / 2000 + 1)
      const [first] = checkpoints
      for (const { exporter, importer, sum } of checkpoints) {
        // A pool keeps its slabs (one on either side), and a mapping that was closed may be kept: those have a bound, all else is exact.
        const exact = (held: Checkpoint['exporter']): object => ({ ...held, mappings: kept === 0 ? held.mappings : 0, memfds: kind === 'pooled' ? 0 : held.memfds, descriptors: kind === 'pooled' ? 0 : held.descriptors })
        t.deepEqual(exact(exporter), exact(first!.exporter))
        t.deepEqual({ ...exact(importer), sum }, { ...exact(first!.importer), sum })
        t.like(exporter, { live: 0, claims: 0, resources: 0 })
        t.like(importer, { live: 0, claims: 0, resources: 0, held: 0, sum })
        t.true(importer.mappings <= kept + (kind === 'pooled' ? 1 : 0) && exporter.mappings <= first!.exporter.mappings, `${importer.mappings} and ${exporter.mappings} mappings`)
        t.true(exporter.descriptors <= first!.exporter.descriptors + 1 && importer.descriptors === first!.importer.descriptors)
      }
      const { code, stderr } = await child.exited
      t.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    } catch (error) {
      t.fail(`${String(error)}: ${(await child.kill()).stderr}`)
    } finally {
      await child.kill()
    }
  })
}
