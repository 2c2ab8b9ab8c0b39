import { cudaBackend } from '../../support/backends.ts'
import { keySteps } from './key_steps.ts'

keySteps(cudaBackend('fd').selector, 0)
