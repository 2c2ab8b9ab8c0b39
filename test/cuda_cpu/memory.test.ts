import test from 'ava'
import { Program } from './programs.ts'

const program = new Program('memory')

program.testAll({
  memory_runs_out: { USM_IPC_CUDA_SW_MEMORY: String(8 << 20) },
  calls_fail_as_the_environment_says: { USM_IPC_CUDA_SW_FAIL: 'cuMemAlloc_v2:2,cuMemAlloc_v2:3:2,cuCtxSynchronize:1:719' },
})

test('which devices a process sees, and in which order', async (t) => {
  const devices = (visible?: string): Promise<string[]> =>
    program.passes(t, 'devices', { USM_IPC_CUDA_SW_DEVICES: '3', ...(visible === undefined ? {} : { CUDA_VISIBLE_DEVICES: visible }) })
  const [a, b, c, ...more] = await devices() as [string, string, string]
  t.deepEqual(more, [])
  t.is(new Set([a, b, c]).size, 3)
  const name = (hex: string): string => `GPU-${hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}`
  t.deepEqual(await devices('2,0'), [c, a])
  t.deepEqual(await devices(`${name(b)},0`), [b, a])
  t.deepEqual(await devices('1,7,0'), [b], 'up to the first that names none')
  t.deepEqual(await devices('1,1'), [])
  t.deepEqual(await devices(name(a).slice(0, 10)), [], 'the beginning of more than one')
  t.deepEqual(await devices(''), [])
})
