import { levelZeroBackend } from '../support/backends.ts'
import { contract, memoryFileContract, vendorContract } from './contract.ts'
import { runContract } from './run_contract.ts'

runContract(levelZeroBackend('opaque-mirror'), [...contract, ...memoryFileContract, ...vendorContract])
