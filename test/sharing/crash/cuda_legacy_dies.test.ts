import { cudaBackend } from '../../support/backends.ts'
import { keySteps } from './key_steps.ts'

keySteps(cudaBackend('legacy').selector, 0)
