import test from 'ava'
import { runModel } from './run_model.ts'

test('any interleaving, on host', async (t) => {
  await runModel(t, { selector: 'host', env: {}, hostAddressable: true, runs: 60 })
})
