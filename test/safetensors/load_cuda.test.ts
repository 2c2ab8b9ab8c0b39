import { cudaBackend } from '../support/backends.ts'
import { runLoading } from './run_loading.ts'

cudaBackend('legacy')
runLoading('cuda', { readOnly: false })
