import { cudaBackend } from '../../support/backends.ts'
import { testLifetime } from './lifetime.ts'

testLifetime(cudaBackend('legacy'))
