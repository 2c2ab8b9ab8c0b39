/** What in the environment keeps a backend from its device, where that can be told: drivers and runtimes themselves do not. */
import type { LevelZeroDevice, Probes } from './probe.ts'
import type { System } from './system.ts'
import { excludesLevelZero, shown, softwareMistake } from './variables.ts'

export interface Cause {
  text: string
  fix: string
  /** No other check has told of it. */
  isNew?: true
}

/** What the software driver prints of a variable that it refuses; not what it traces. */
const COMPLAINT = /^usm-ipc software driver: ((?:USM_IPC_ZE|ZE)_\w+.*)$/m
const FAULTS = ['USM_IPC_ZE_FAULT', 'USM_IPC_ZE_LOST']
/** The addon says it where nothing but that is missing. */
const BUILD = /npm run (?:[\w:]+ && npm run )?build:sycl/

export function devicesOf({ levelZero }: Pick<Probes, 'levelZero'>): LevelZeroDevice[] {
  return levelZero.answers.drivers?.flatMap((driver) => driver.devices) ?? []
}

const assigned = (system: System, name: string): string | undefined => {
  const value = system.variable(name)
  return value === undefined || value === '' ? undefined : `${name}=${shown(name, value)}`
}

/** Why Level Zero has no device. */
export function levelZeroCause(system: System, probes: Probes): Cause | undefined {
  const { levelZero, software } = probes
  const mistake = software ? undefined : softwareMistake(system)
  if (mistake !== undefined) return { text: mistake, fix: 'set USM_IPC_SOFTWARE_DRIVER to 1 for the software driver, or unset it' }
  if (devicesOf(probes).length > 0) return undefined
  const complaint = COMPLAINT.exec(levelZero.output)?.[1]
  if (complaint !== undefined) return { text: complaint, fix: `correct or unset ${/^\w+/.exec(complaint)![0]}` }
  const fault = faultCause(system, probes)
  if (fault !== undefined) return fault
  const mask = assigned(system, 'ZE_AFFINITY_MASK')
  if (mask !== undefined && levelZero.answers.drivers !== undefined) return { text: `${mask} may hide them`, fix: 'correct or unset ZE_AFFINITY_MASK' }
  return undefined
}

/** What makes calls of the software driver fail. */
export function faultCause(system: System, { software }: Pick<Probes, 'software'>): Cause | undefined {
  const name = FAULTS.find((fault) => software && assigned(system, fault) !== undefined)
  return name === undefined ? undefined : { text: `${assigned(system, name)} makes calls fail`, fix: `unset ${name}` }
}

/** Why SYCL has none, when the addon says `reason`. */
export function syclCause(system: System, probes: Probes, reason: string): Cause | undefined {
  const build = BUILD.exec(reason)?.[0]
  if (build !== undefined) return { text: reason, fix: `${build}, in a clone of usm-ipc`, isNew: true }
  const below = levelZeroCause(system, probes)
  if (below !== undefined || probes.libraries.answers.sycl?.path === '') return below
  const selector = assigned(system, 'ONEAPI_DEVICE_SELECTOR')
  if (selector === undefined || devicesOf(probes).length === 0) return undefined
  const excludes = excludesLevelZero(system.variable('ONEAPI_DEVICE_SELECTOR')!)
  return {
    text: excludes ? `${selector} excludes Level Zero` : `${selector} leaves no Level Zero device`,
    fix: 'unset ONEAPI_DEVICE_SELECTOR, or set it to level_zero:*',
    isNew: true,
  }
}
