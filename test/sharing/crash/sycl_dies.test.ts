import { syclBackend } from '../../support/backends.ts'
import { keySteps } from './key_steps.ts'

const { selector, keepsMappings = 0 } = syclBackend('v2')
keySteps(selector, keepsMappings)
