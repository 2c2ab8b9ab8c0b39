import { runLoading } from './run_loading.ts'

runLoading('host', { readOnly: true })
