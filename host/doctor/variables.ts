/** Environment variables that change what the runtimes do. Values only of those that cannot hold a secret. */
import { check, type Check } from './check.ts'
import type { System } from './system.ts'

/** Of a few words or numbers: shown where they are that, their length otherwise. */
const WORDS = [
  'USM_IPC_SOFTWARE_DRIVER', 'USM_IPC_SANITIZED', 'USM_IPC_LEDGER_LIMIT', 'USM_IPC_ZE_HANDLES', 'USM_IPC_ZE_DEVICES', 'USM_IPC_ZE_SUBDEVICES',
  'USM_IPC_ZE_MEMORY', 'USM_IPC_ZE_FAULT', 'USM_IPC_ZE_LOST', 'USM_IPC_ZE_IP_VERSION', 'USM_IPC_ZE_TRACE',
  'SYCL_UR_USE_LEVEL_ZERO_V2', 'ONEAPI_DEVICE_SELECTOR', 'SYCL_UR_TRACE', 'UR_L0_DISABLE_USM_ALLOCATOR', 'UR_L0_USM_ALLOCATOR',
  'UR_LOADER_USE_LEVEL_ZERO_V2', 'UMF_MAX_OPENED_IPC_HANDLES', 'UMF_LOG', 'UMF_PROXY',
  'ZE_FLAT_DEVICE_HIERARCHY', 'ZE_AFFINITY_MASK', 'ZE_ENABLE_PCI_ID_DEVICE_ORDER', 'ZE_ENABLE_VALIDATION_LAYER', 'ZE_ENABLE_TRACING_LAYER',
  'ZE_ENABLE_LOADER_DEBUG_TRACE', 'ZES_ENABLE_SYSMAN', 'ZEL_ENABLE_LOADER_LOGGING', 'NEOReadDebugKeys', 'EnableImplicitScaling',
  'CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER', 'CUDA_MPS_PIPE_DIRECTORY',
] as const
const PATHS = [
  'USM_IPC_ADDON', 'USM_IPC_SYCL', 'ZE_ENABLE_ALT_DRIVERS', 'ZEL_LIBRARY_PATH', 'LD_LIBRARY_PATH', 'LD_PRELOAD', 'VIRTUAL_ENV', 'CMPLR_ROOT', 'ONEAPI_ROOT',
  'XDG_CACHE_HOME', 'UR_ADAPTERS_FORCE_LOAD', 'UR_ADAPTERS_SEARCH_PATH',
] as const
const FAMILY = /^(USM_IPC|SYCL|UR|UMF|ZE|ZEL|ZES|ZET|NEO|ONEAPI|IGC)_/

export const SHOWN: readonly string[] = [...WORDS, ...PATHS]

// A selector's terms may start with an exclamation mark.
const looksLikeWords = (value: string): boolean => /^[\w.,:;=*+\- /"]{0,100}$/.test(value.replace(/(^|;)!/g, '$1'))
const looksLikePath = (value: string): boolean => value.length <= 1000 && value.split(':').every((part) => /^(\/[\w.+@~-]+)*\/?$/.test(part))

export function isShown(name: string, value: string): boolean {
  if ((PATHS as readonly string[]).includes(name)) return looksLikePath(value)
  return (WORDS as readonly string[]).includes(name) && looksLikeWords(value)
}

export function shown(name: string, value: string): string {
  return isShown(name, value) ? value : `(${value.length} characters, not shown)`
}

export function checkVariables(system: System): Check[] {
  const set: Record<string, string> = {}
  for (const name of SHOWN) {
    const value = system.variable(name)
    if (value !== undefined) set[name] = shown(name, value)
  }
  const others = system.variableNames().filter((name) => FAMILY.test(name) && !SHOWN.includes(name))
  const data = { values: set, alsoSet: others }
  const lines = [...Object.entries(set).map(([name, value]) => `${name}=${value}`), ...others.map((name) => `${name} is set`)]
  const [detail, wrong] = [lines.length === 0 ? 'none that matter' : lines.join(', '), mistakes(system)]
  return [wrong.length === 0 ? check('variables', 'ok', detail, { data }) : check('variables', 'warning', detail, { fix: wrong.join('; '), data })]
}

/** What is set and cannot be meant. */
function mistakes(system: System): string[] {
  const wrong: (string | undefined)[] = [softwareMistake(system)]
  const v2 = system.variable('SYCL_UR_USE_LEVEL_ZERO_V2')
  if (v2 !== undefined && !['0', '1'].includes(v2)) wrong.push('SYCL_UR_USE_LEVEL_ZERO_V2 is 0 or 1')
  const folder = system.variable('ZEL_LIBRARY_PATH')
  if (folder !== undefined && folder !== '' && system.status(`${folder}/libze_loader.so.1`) === undefined) {
    wrong.push('ZEL_LIBRARY_PATH names a folder without libze_loader.so.1: the SYCL runtime finds no Level Zero then; unset it')
  }
  if (excludesLevelZero(system.variable('ONEAPI_DEVICE_SELECTOR') ?? '')) {
    wrong.push('ONEAPI_DEVICE_SELECTOR hides Level Zero devices from SYCL: unset it, or add level_zero:*')
  }
  return wrong.filter((text) => text !== undefined)
}

export function softwareMistake(system: System): string | undefined {
  const name = 'USM_IPC_SOFTWARE_DRIVER'
  const value = system.variable(name) ?? ''
  return ['', '0', '1'].includes(value) ? undefined : `${name} takes 1 (or 0), not ${shown(name, value)}`
}

/** `opencl:*;level_zero:0`: terms that accept, and such with an exclamation mark that take away. */
export function excludesLevelZero(selector: string): boolean {
  const terms = selector.toLowerCase().split(';').map((term) => term.trim()).filter((term) => term !== '')
  const accepting = terms.filter((term) => !term.startsWith('!'))
  if (terms.some((term) => /^!(level_zero|\*):\*$/.test(term))) return true
  return accepting.length > 0 && !accepting.some((term) => /^(level_zero|\*)(:|$)/.test(term))
}
