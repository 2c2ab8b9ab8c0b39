import { cudaBackend } from '../support/backends.ts'
import { contract } from './contract.ts'
import { runContract } from './run_contract.ts'

runContract(cudaBackend('fd'), contract)
