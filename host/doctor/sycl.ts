/** The SYCL runtime: where it was looked for, what it has, and which of its adapters is the one. */
import { devicesOf } from './causes.ts'
import { check, type Check } from './check.ts'
import { ending, printed, type Probes } from './probe.ts'
import type { System } from './system.ts'

export const SYCL_LIBRARY = 'libsycl.so.9'
/** get, put and close of sycl::ext::oneapi::experimental::ipc::memory. */
export const SYCL_SYMBOLS = [
  '_ZN4sycl3_V13ext6oneapi12experimental3ipc6memory3getEPvRKNS0_7contextE',
  '_ZN4sycl3_V13ext6oneapi12experimental3ipc6memory3putERNS4_6handleERKNS0_7contextE',
  '_ZN4sycl3_V13ext6oneapi12experimental3ipc6memory5closeEPvRKNS0_7contextE',
]
const RELEASE = 'intel-sycl-rt-2026.2.0'
const GET_IT = 'pip install intel-sycl-rt==2026.2.0 in a virtual environment and activate that; or set USM_IPC_SYCL to its folder; or, in a clone, npm run setup:sycl && npm run build:sycl'
const BETWEEN = 'raw handles of v1 and v2 do not open each other in plain SYCL programs; usm-ipc opens both'
/** From this IP version on, the runtime prefers its v2 adapter. */
const V2_FROM = 0x05004000

interface Place {
  /** As people write it. */
  name: string
  folder: string
}

/** In the order in which the addon looks. */
export function syclPlaces(system: System): Place[] {
  const at = (variable: string, below: string): Place[] => {
    const value = system.variable(variable)
    return value === undefined || value === '' ? [] : [{ name: `$${variable}${below}`, folder: value + below }]
  }
  const cache = at('XDG_CACHE_HOME', `/usm-ipc/${RELEASE}/lib`)
  return [
    ...at('USM_IPC_SYCL', '/lib'), ...at('USM_IPC_SYCL', ''), ...at('VIRTUAL_ENV', '/lib'),
    ...(cache.length > 0 ? cache : [{ name: `~/.cache/usm-ipc/${RELEASE}/lib`, folder: `${system.home}/.cache/usm-ipc/${RELEASE}/lib` }]),
    ...at('CMPLR_ROOT', '/lib'), ...at('ONEAPI_ROOT', '/compiler/latest/lib'),
    { name: '/opt/intel/oneapi/compiler/latest/lib', folder: '/opt/intel/oneapi/compiler/latest/lib' },
  ]
}

/** What is loaded: the first place that has it, or the plain name. */
export function syclPath(system: System): string {
  const place = syclPlaces(system).find(({ folder }) => system.status(`${folder}/${SYCL_LIBRARY}`) !== undefined)
  return place === undefined ? SYCL_LIBRARY : `${place.folder}/${SYCL_LIBRARY}`
}

/** Whether what every adapter needs is missing. */
export function isSyclHopeless({ levelZero, libraries }: Pick<Probes, 'levelZero' | 'libraries'>): boolean {
  const { loader } = levelZero.answers
  return libraries.answers.sycl?.path === '' || (loader !== undefined && (loader.path === '' || loader.missing.includes('zeInitDrivers')))
}

export function checkSycl(system: System, probes: Probes): Check[] {
  return [runtime(system, probes), adapters(system, probes), choice(system, probes)]
}

/** Of the runtime that was loaded; '' where none was. */
function folderOf(system: System, { libraries }: Probes): string {
  const path = libraries.answers.sycl?.path ?? ''
  return path === '' ? '' : (system.real(path) ?? path).replace(/\/[^/]*$/, '')
}

function runtime(system: System, { libraries }: Probes): Check {
  const places = syclPlaces(system)
  const looked = places.map(({ name, folder }) => ({ place: name, has: (system.list(folder) ?? []).filter((file) => /^libsycl\.so\.\d+$/.test(file)) }))
  const data: Record<string, unknown> = { looked }
  const answer = libraries.answers.sycl
  if (answer === undefined) {
    const isCrash = libraries.step !== '' && libraries.end !== 'failed'
    return check('sycl-runtime', isCrash ? 'failed' : 'unknown', ending(libraries) + printed(libraries), isCrash ? { fix: `install it anew: ${GET_IT}`, data } : { data })
  }
  if (answer.path === '') {
    const others = [...new Set(looked.flatMap(({ has }) => has))]
    if (/No such file/.test(answer.error) && others.length === 0) {
      return check('sycl-runtime', 'absent', `no ${SYCL_LIBRARY}; looked in ${looked.map(({ place }) => place).join(', ')} and where libraries are`, { fix: GET_IT, data })
    }
    const detail = others.length > 0 && !others.includes(SYCL_LIBRARY) ? `${others.join(', ')} is of another release` : `it cannot be loaded: ${answer.error}`
    return check('sycl-runtime', 'failed', detail, { fix: `${SYCL_LIBRARY} is what has ipc::memory: ${GET_IT}`, data })
  }
  const path = system.real(answer.path) ?? answer.path
  const version = versionOf(system, path)
  const release = releaseOf(system, path)
  Object.assign(data, { path, version, release })
  const detail = `libsycl ${version}${release === '' ? '' : `, release ${release}`}, ${path}`
  if (answer.missing.length > 0) return check('sycl-runtime', 'failed', `${detail}, without ipc::memory`, { fix: `it is older than 2026.2: ${GET_IT}`, data })
  return check('sycl-runtime', 'ok', detail, { data })
}

/** The longest that a file name beside it tells: `9.0.0` (pip installs no links). */
function versionOf(system: System, path: string): string {
  const beside = system.list(path.replace(/\/[^/]*$/, '')) ?? []
  const versions = [path, ...beside].map((name) => /libsycl\.so\.(9[\d.]*)$/.exec(name)?.[1] ?? '')
  return versions.reduce((longest, version) => (version.length > longest.length ? version : longest))
}

/** Its folder, or pip's note beside it, says: `2026.2.0`. */
function releaseOf(system: System, path: string): string {
  const inPath = /(?:intel-sycl-rt-|\/compiler\/)(\d{4}\.[\d.]*\d)/.exec(path)?.[1]
  if (inPath !== undefined) return inPath
  const lib = path.replace(/\/[^/]*$/, '')
  for (const python of (system.list(lib) ?? []).filter((name) => name.startsWith('python3'))) {
    const note = (system.list(`${lib}/${python}/site-packages`) ?? []).find((name) => name.startsWith('intel_sycl_rt-'))
    const version = /-(\d[\d.]*\d)\.dist-info$/.exec(note ?? '')?.[1]
    if (version !== undefined) return version
  }
  return ''
}

function adaptersOf(system: System, probes: Probes): string[] {
  const names = (system.list(folderOf(system, probes)) ?? []).map((file) => /^libur_adapter_(\w+)\.so/.exec(file)?.[1] ?? '')
  return [...new Set(names)].filter((name) => name !== '').sort()
}

function adapters(system: System, probes: Probes): Check {
  if (folderOf(system, probes) === '') return check('sycl-adapters', 'absent', 'there is no SYCL runtime')
  const names = adaptersOf(system, probes)
  const data = { adapters: names }
  const detail = names.length === 0 ? 'none beside the runtime' : names.join(', ')
  if (names.some((name) => name.startsWith('level_zero'))) return check('sycl-adapters', 'ok', detail, { data })
  return check('sycl-adapters', 'failed', `${detail}: none for Level Zero`, { fix: 'the installation is not whole: install intel-cmplr-lib-ur of the same release beside the runtime', data })
}

function choice(system: System, probes: Probes): Check {
  const names = adaptersOf(system, probes)
  if (!names.some((name) => name.startsWith('level_zero'))) return check('sycl-adapter-choice', 'absent', 'there is none to choose')
  const variable = system.variable('SYCL_UR_USE_LEVEL_ZERO_V2')
  const versions = devicesOf(probes).map((device) => device.ipVersion)
  const [wanted, why] =
    variable === '1' ? ['v2', 'SYCL_UR_USE_LEVEL_ZERO_V2=1'] as const
    : variable === '0' ? ['v1', 'SYCL_UR_USE_LEVEL_ZERO_V2=0'] as const
    : versions.length === 0 ? ['', 'no device tells'] as const
    : versions.some((version) => version >= V2_FROM) ? ['v2', "the device's IP version is one of the newer"] as const
    : ['v1', "the device's IP version is one of the older"] as const
  const data = { adapter: wanted === '' ? null : wanted, variable: variable !== undefined }
  if (wanted === '') return check('sycl-adapter-choice', 'unknown', why, { data })
  const detail = `${wanted}: ${why}`
  if (names.includes(wanted === 'v2' ? 'level_zero_v2' : 'level_zero')) return check('sycl-adapter-choice', 'ok', `${detail}; ${BETWEEN}`, { data })
  return check('sycl-adapter-choice', 'failed', `${detail}, and it is not installed`, { fix: `set SYCL_UR_USE_LEVEL_ZERO_V2=${wanted === 'v2' ? 0 : 1}, or install the whole runtime`, data })
}
