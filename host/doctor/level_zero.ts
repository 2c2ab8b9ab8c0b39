/** The Level Zero loader, the drivers behind it, and their devices. */
import { levelZeroCause } from './causes.ts'
import { check, plural, type Check } from './check.ts'
import { hasIntelGpu } from './gpu.ts'
import { REPORT, ending, printed, type LevelZeroDevice, type LevelZeroDriver, type Probes } from './probe.ts'
import type { System } from './system.ts'

export const LOADER = 'libze_loader.so.1'
/** Without it the SYCL runtime's adapters crash. */
const NEWER_FUNCTION = 'zeInitDrivers'
const NEWER_LOADER = 'install a Level Zero loader of version 1.20 or newer: https://github.com/oneapi-src/level-zero/releases (Debian 12 has 1.8)'
const TRY_SOFTWARE = '; to try without hardware: usm-ipc doctor --software'
const TYPES = ['unknown', 'gpu', 'cpu', 'fpga', 'mca', 'vpu']

/** What dlopen() is given, as the backend does it. */
export function loaderPath(system: System, addonFolder: string, software: boolean): string {
  if (software) return `${addonFolder}/software-driver/${LOADER}`
  const folder = system.variable('ZEL_LIBRARY_PATH')
  return folder === undefined || folder === '' ? LOADER : `${folder}/${LOADER}`
}

export function checkLevelZero(system: System, probes: Probes): Check[] {
  return [loader(system, probes), drivers(system, probes), devices(system, probes)]
}

function loader(system: System, probes: Probes): Check {
  const { levelZero, software } = probes
  const { loader, versions } = levelZero.answers
  if (loader === undefined) {
    if (levelZero.step === '') return check('level-zero-loader', 'unknown', ending(levelZero))
    return check('level-zero-loader', 'failed', ending(levelZero) + printed(levelZero), { fix: NEWER_LOADER })
  }
  if (loader.path === '') {
    const isMissing = /No such file/.test(loader.error)
    const fix = software
      ? 'build the software driver with the addon: npm run build:addon'
      : levelZeroCause(system, probes)?.fix ?? `install it (package libze1, level-zero or oneapi-level-zero; 1.20 or newer) and the GPU's driver${TRY_SOFTWARE}`
    const status = software || hasIntelGpu(system) || !isMissing ? 'failed' : 'absent'
    return check('level-zero-loader', status, isMissing ? `no ${LOADER}` : `${LOADER} cannot be loaded: ${loader.error}`, { fix, data: { error: loader.error } })
  }
  const path = system.real(loader.path) ?? loader.path
  const version = versions?.['loader'] ?? /\.so\.(\d+\.\d+[\d.]*)$/.exec(path)?.[1] ?? ''
  const data = { path, version, components: versions ?? {}, missing: loader.missing, software }
  const detail = `${software ? 'software driver' : version === '' ? 'version unknown' : version}, ${path}`
  if (loader.missing.includes(NEWER_FUNCTION)) {
    return check('level-zero-loader', 'failed', `${detail}: too old, without ${NEWER_FUNCTION}; the SYCL runtime would crash on it`, { fix: NEWER_LOADER + TRY_SOFTWARE, data })
  }
  return check('level-zero-loader', 'ok', detail, { data })
}

function drivers(system: System, probes: Probes): Check {
  const { levelZero, software } = probes
  const { loader, init, drivers } = levelZero.answers
  if (loader === undefined || loader.path === '') return check('level-zero-drivers', 'absent', 'not asked: there is no loader')
  const cause = levelZeroCause(system, probes)
  const report = cause?.fix ?? (software ? REPORT : 'update the GPU driver (Intel: intel-level-zero-gpu or libze-intel-gpu1) and the loader; if it stays, send us this report')
  if (init === undefined) return check('level-zero-drivers', 'failed', ending(levelZero) + printed(levelZero), { fix: report })
  if (init.result !== '') {
    const detail = `${init.call} says ${init.result}`
    if (cause !== undefined) return check('level-zero-drivers', 'failed', `${detail}: ${cause.text}`, { fix: cause.fix, data: { ...init } })
    const isNone = init.result === 'ZE_RESULT_ERROR_UNINITIALIZED' && !software
    const fix = isNone
      ? `no driver accepted: install Intel's compute runtime (package intel-level-zero-gpu, libze-intel-gpu1 or intel-compute-runtime), and see /dev/dri above${TRY_SOFTWARE}`
      : report
    return check('level-zero-drivers', isNone && !hasIntelGpu(system) ? 'absent' : 'failed', isNone ? `${detail}: no driver` : detail, { fix, data: { ...init } })
  }
  if (drivers === undefined) return check('level-zero-drivers', 'failed', ending(levelZero) + printed(levelZero), { fix: report, data: { ...init } })
  if (drivers.length === 0) {
    return check('level-zero-drivers', hasIntelGpu(system) || software ? 'failed' : 'absent', 'the loader has no driver', {
      fix: software ? report : `install Intel's compute runtime (package intel-level-zero-gpu or libze-intel-gpu1)${TRY_SOFTWARE}`,
    })
  }
  const data = {
    drivers: drivers.map((driver) => ({
      version: driverVersion(driver.driverVersion), apiVersion: apiVersion(driver), software: driver.software, ipcFlags: driver.ipcFlags,
      devices: driver.devices.length, extensions: driver.extensions,
    })),
  }
  const detail = drivers.map((driver) => `version ${driverVersion(driver.driverVersion)}, API ${apiVersion(driver)}${driver.software ? ' (software)' : ''}`).join('; ')
  return check('level-zero-drivers', 'ok', detail, { data })
}

function devices(system: System, probes: Probes): Check {
  const { drivers } = probes.levelZero.answers
  const found = drivers?.flatMap((driver) => driver.devices.map((device) => ({ device, software: driver.software }))) ?? []
  if (drivers === undefined || drivers.length === 0) return check('level-zero-devices', 'absent', 'not asked: there is no driver')
  if (found.length === 0) {
    const cause = levelZeroCause(system, probes)
    const fix = cause?.fix ?? (probes.software ? REPORT : 'see /dev/dri and its groups above')
    return check('level-zero-devices', 'failed', `the driver has no device${cause === undefined ? '' : `: ${cause.text}`}`, { fix, data: { devices: [] } })
  }
  const data = { devices: found.map(({ device, software }) => deviceData(device, software)) }
  const line = (device: LevelZeroDevice, software: boolean): string =>
    `${device.name}${software ? ' (software)' : ''}, UUID ${device.uuid}${device.subdevices > 0 ? `, ${plural(device.subdevices, 'sub-device')}` : ''}`
  return check('level-zero-devices', 'ok', found.map(({ device, software }) => line(device, software)).join('; '), { data })
}

function deviceData(device: LevelZeroDevice, software: boolean): Record<string, unknown> {
  return {
    name: device.name, uuid: device.uuid, type: TYPES[device.type] ?? 'unknown', software, memory: device.memory, subdevices: device.subdevices,
    vendorId: hex(device.vendorId, 4), deviceId: hex(device.deviceId, 4), ipVersion: device.ipVersion === 0 ? null : hex(device.ipVersion, 8),
  }
}

const hex = (value: number, digits: number): string => `0x${value.toString(16).padStart(digits, '0')}`
const apiVersion = ({ apiVersion }: LevelZeroDriver): string => `${apiVersion >>> 16}.${apiVersion & 0xffff}`

/** Intel's packing, `1.3.29735`. */
function driverVersion(version: number): string {
  return `${version >>> 24}.${(version >>> 16) & 0xff}.${version & 0xffff}`
}
