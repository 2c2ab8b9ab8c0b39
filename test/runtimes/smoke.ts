/** The contract's smoke cases under node:test, which Node, Deno and Bun all run. USM_IPC_SMOKE names another backend than the host's. */
import test from 'node:test'
import { contract, hostContract, memoryFileContract, vendorContract } from '../contract/contract.ts'
import { applies } from '../contract/types.ts'
import { runCase } from '../contract/run_case.ts'
import { variable } from '../../host/variables.ts'
import { hostBackend, levelZeroBackend, syclBackend } from '../support/backends.ts'

const name = variable('USM_IPC_SMOKE') ?? 'host'
const backend = name === 'sycl' ? syclBackend('v2') : name === 'level_zero' ? levelZeroBackend('opaque') : hostBackend
const cases = [...contract, ...memoryFileContract, ...(name === 'host' ? hostContract : vendorContract)]

for (const contractCase of cases) {
  if (contractCase.smoke && applies(contractCase, backend)) test(`${name}: ${contractCase.name}`, () => runCase(contractCase, backend))
}
