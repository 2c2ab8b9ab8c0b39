import test from 'ava'
import { hostBackend } from '../support/host_backend.ts'
import { contract, memoryFileContract } from './contract.ts'
import { runCase } from './run_case.ts'

for (const contractCase of [...contract, ...memoryFileContract]) {
  test.serial(`host: ${contractCase.name}`, async (t) => {
    await runCase(contractCase, hostBackend)
    t.pass()
  })
}
