import test from 'ava'
import { runModel } from './run_model.ts'

test('any interleaving, on level_zero', async (t) => {
  await runModel(t, { selector: 'level_zero', env: { USM_IPC_SOFTWARE_DRIVER: '1' }, hostAddressable: false, runs: 10 })
})
