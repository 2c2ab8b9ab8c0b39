/** The contract's smoke cases under node:test, which Node, Deno and Bun all run. */
import test from 'node:test'
import { contract, memoryFileContract } from '../contract/contract.ts'
import { runCase } from '../contract/run_case.ts'
import { hostBackend } from '../support/host_backend.ts'

for (const contractCase of [...contract, ...memoryFileContract]) {
  if (contractCase.smoke) test(`host: ${contractCase.name}`, () => runCase(contractCase, hostBackend))
}
