/** What the tests of the sycl backend stand on: Intel's runtime, the library of ours on it, and the software driver. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
export const ADDON_FOLDER = dirname(process.env.USM_IPC_ADDON ?? join(ROOT, 'build/Release/usm_ipc.node'))
export const DRIVER_FOLDER = join(ADDON_FOLDER, 'software-driver')
/** The runtime's folder, with include/ and lib/. */
export const SYCL: string = process.env.USM_IPC_SYCL
  || execFileSync(process.execPath, [join(ROOT, 'scripts/setup_sycl.mjs'), '--path'], { encoding: 'utf8' }).trim()

const needed: [string, string][] = [
  [join(SYCL, 'lib/libsycl.so.9'), 'there is no SYCL runtime: npm run setup:sycl'],
  [join(ADDON_FOLDER, 'libusm_ipc_sycl.so'), 'libusm_ipc_sycl.so is not built: npm run build:sycl'],
  [join(DRIVER_FOLDER, 'libze_loader.so.1'), 'the software driver is not built: npm run build:addon'],
]
/** Why these tests cannot run here. */
export const missing = needed.find(([path]) => !existsSync(path))?.[1]

export type Adapter = 'v1' | 'v2'
export const ADAPTERS: Adapter[] = ['v2', 'v1']
export const HANDLE_SIZE = { v2: 120, v1: 108 }
export const LAYOUT = { v2: 'sycl-umf-level-zero-v2', v1: 'sycl-umf-level-zero-v1' } as const

/**
 * The forms of Level Zero's handle that the software driver makes. The plain opaque one is not for the bare runtime: it
 * replaces the descriptor's number but not the pid beside it, and the driver then takes that number from the exporter.
 */
export const FORMS = ['classic', 'opaque-mirror', 'opaque'] as const
export type Form = (typeof FORMS)[number]

export interface Choice {
  adapter: Adapter
  form?: Form
  /** Small allocations share slabs, as the runtime has it by default. Not to be had in a process of ours on adapter v1. */
  pooled?: boolean
}

const chosen = ({ adapter, form = 'opaque-mirror', pooled = false }: Choice): Record<string, string> => ({
  SYCL_UR_USE_LEVEL_ZERO_V2: adapter === 'v2' ? '1' : '0',
  USM_IPC_ZE_HANDLES: form,
  // Adapter v1 takes any value of this one for yes.
  ...(pooled ? {} : { UR_L0_DISABLE_USM_ALLOCATOR: '1' }),
})

/** For processes of ours. */
export function ourEnvironment(choice: Choice): Record<string, string> {
  // Unset, this package sets it.
  const pooled = choice.pooled ? { UR_L0_DISABLE_USM_ALLOCATOR: '0' } : {}
  return { ...pooled, ...chosen(choice), USM_IPC_SOFTWARE_DRIVER: '1', USM_IPC_SYCL: SYCL }
}

/** For programs that are not: the runtime finds the software driver by its own variable. */
export function bareEnvironment(choice: Choice): Record<string, string> {
  return { ...chosen(choice), ZEL_LIBRARY_PATH: DRIVER_FOLDER }
}
