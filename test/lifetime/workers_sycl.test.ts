import { syclBackend } from '../support/backends.ts'
import { testWorkers } from './workers.ts'

testWorkers(syclBackend('v2'))
