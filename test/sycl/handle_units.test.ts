import test from 'ava'
import { spawnSync } from 'node:child_process'
import { compileUnits } from './support/compile.ts'

test('handles are read and written in both layouts; base values are never given to two allocations', (t) => {
  const program = compileUnits('handle_units.cc', [
    'backends/sycl_handle.cc', 'backends/sycl_base_values.cc', 'backends/level_zero_handle.cc', 'failure.cc',
  ])
  const { status, stderr } = spawnSync(program, { encoding: 'utf8' })
  t.is(status, 0, stderr)
})
