import { levelZeroBackend } from '../support/backends.ts'
import { testWorkers } from './workers.ts'

testWorkers(levelZeroBackend('opaque'))
