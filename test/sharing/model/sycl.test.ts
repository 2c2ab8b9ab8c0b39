import test from 'ava'
import { runModel } from './run_model.ts'

test('any interleaving, on sycl', async (t) => {
  await runModel(t, { selector: 'sycl', env: { USM_IPC_SOFTWARE_DRIVER: '1', SYCL_UR_USE_LEVEL_ZERO_V2: '1' }, hostAddressable: false, runs: 7 })
})
