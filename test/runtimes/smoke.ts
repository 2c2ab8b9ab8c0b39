/** The contract's smoke cases under node:test, which Node, Deno and Bun all run. */
import test from 'node:test'
import { contract, hostContract, memoryFileContract } from '../contract/contract.ts'
import { applies } from '../contract/types.ts'
import { runCase } from '../contract/run_case.ts'
import { hostBackend } from '../support/backends.ts'

for (const contractCase of [...contract, ...memoryFileContract, ...hostContract]) {
  if (contractCase.smoke && applies(contractCase, hostBackend)) test(`host: ${contractCase.name}`, () => runCase(contractCase, hostBackend))
}
