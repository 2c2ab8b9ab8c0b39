import { levelZeroBackend } from '../../support/backends.ts'
import { testLifetime } from './lifetime.ts'

testLifetime(levelZeroBackend('opaque-mirror'))
