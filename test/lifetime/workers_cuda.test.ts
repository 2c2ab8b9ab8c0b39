import { cudaBackend } from '../support/backends.ts'
import { testWorkers } from './workers.ts'

testWorkers(cudaBackend('fd'))
