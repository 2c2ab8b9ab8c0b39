import { levelZeroBackend } from '../../support/backends.ts'
import { keySteps } from './key_steps.ts'

keySteps(levelZeroBackend('opaque-mirror').selector, 0)
