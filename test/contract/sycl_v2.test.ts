import { syclBackend } from '../support/backends.ts'
import { contract, memoryFileContract, vendorContract } from './contract.ts'
import { runContract } from './run_contract.ts'

runContract(syclBackend('v2'), [...contract, ...memoryFileContract, ...vendorContract])
