import test from 'ava'
import { cudaBackend } from '../../support/backends.ts'
import { onGpu } from '../../support/ipc.ts'
import { runModel } from './run_model.ts'

const { selector } = cudaBackend('legacy')

test('any interleaving, on cuda', async (t) => {
  await runModel(t, { selector, env: {}, hostAddressable: false, runs: onGpu ? 60 : 8 })
})
