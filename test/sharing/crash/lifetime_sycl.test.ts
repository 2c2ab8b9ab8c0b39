import { syclBackend } from '../../support/backends.ts'
import { testLifetime } from './lifetime.ts'

testLifetime(syclBackend('v2'))
