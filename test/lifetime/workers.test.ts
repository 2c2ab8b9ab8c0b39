import { hostBackend } from '../support/backends.ts'
import { testWorkers } from './workers.ts'

testWorkers(hostBackend)
