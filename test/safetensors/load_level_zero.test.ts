import { levelZeroBackend } from '../support/backends.ts'
import { runLoading } from './run_loading.ts'

levelZeroBackend('opaque-mirror')
runLoading('level_zero', { readOnly: false })
