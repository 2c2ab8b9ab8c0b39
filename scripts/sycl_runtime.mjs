// Where the SYCL runtime that this version builds and tests against lives.
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

export const requirements = ['intel-sycl-rt==2026.2.0', 'dpctl==0.22.1']

const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
/** The virtual environment that `npm run setup:sycl` makes. */
export const folder = join(cache, 'usm-ipc', 'intel-sycl-rt-2026.2.0')
/** Written last: without it the folder is a half of one. */
export const marker = join(folder, '.usm-ipc-complete')

/** A folder with include/ and lib/: $USM_IPC_SYCL if that is set, else the cache's; undefined where there is none. */
export const runtime = () => {
  const candidate = process.env.USM_IPC_SYCL || (existsSync(marker) ? folder : undefined)
  return candidate && existsSync(join(candidate, 'include', 'sycl', 'version.hpp')) ? candidate : undefined
}
