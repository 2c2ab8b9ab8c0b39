import { syclBackend } from '../support/backends.ts'
import { runLoading } from './run_loading.ts'

syclBackend('v2')
runLoading('sycl', { readOnly: false })
