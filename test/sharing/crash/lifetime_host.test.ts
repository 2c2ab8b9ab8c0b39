import { hostBackend } from '../../support/backends.ts'
import { testLifetime } from './lifetime.ts'

testLifetime(hostBackend)
