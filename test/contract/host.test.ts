import { hostBackend } from '../support/backends.ts'
import { contract, hostContract, memoryFileContract } from './contract.ts'
import { runContract } from './run_contract.ts'

runContract(hostBackend, [...contract, ...memoryFileContract, ...hostContract])
