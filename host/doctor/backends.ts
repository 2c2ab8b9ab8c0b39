/** Which backends can be used, and whether two processes really share memory through them. */
import { check, plural, type Check, type CheckId, type Status } from './check.ts'
import { faultCause, levelZeroCause, syclCause, type Cause } from './causes.ts'
import { hasIntelGpu } from './gpu.ts'
import { OPENING, REPORT, ROUND_TRIPS, ending, printed, type BackendAnswers, type Probe, type Probes, type RoundTripName } from './probe.ts'
import type { System } from './system.ts'

/** Those that have a device of their own kind to be found. */
const BACKENDS = ['host', 'level_zero', 'sycl', 'cuda'] as const
const FIXES: Record<Name, string> = {
  host: 'it needs nothing but the addon and memfds: see above',
  level_zero: 'a Level Zero loader and a driver, as said above; to try without hardware: usm-ipc doctor --software',
  sycl: 'a Level Zero loader of 1.20 or newer, a driver, and the SYCL runtime, as said above; to try without hardware: usm-ipc doctor --software',
  cuda: "install NVIDIA's driver, and see that this user may open /dev/nvidia*; in a container use its container toolkit: docker run --gpus all",
}

const idOf = <Kind extends 'backend' | 'round-trip'>(kind: Kind, name: RoundTripName): CheckId => `${kind}-${name.replace('_', '-')}` as CheckId

type Name = (typeof BACKENDS)[number]

/** What a backend stands on, as far as a check has a fix for it; what keeps it from its device first. */
const BELOW: Partial<Record<Name, CheckId[]>> = {
  level_zero: ['level-zero-drivers', 'level-zero-devices', 'level-zero-loader'],
  cuda: ['cuda-library'],
  sycl: ['level-zero-loader', 'sycl-runtime', 'sycl-adapters', 'level-zero-drivers', 'level-zero-devices'],
}

/** @param below - the checks of the libraries that they stand on */
export function checkBackends(system: System, probes: Probes, below: readonly Check[]): Check[] {
  return BACKENDS.map((name) => backend(system, name, probes, below))
}

export function checkRoundTrips(system: System, probes: Probes): Check[] {
  const { self } = probes.kernel.answers.pidfd ?? {}
  const isPidfdRefused = self !== undefined && (self.open !== '' || self.getfd !== '')
  const crashed = (name: string): string => crashFix(name, system, probes)
  return ROUND_TRIPS.map((name) => roundTrip(name, probes.backends[name], isPidfdRefused, crashed(name), faultCause(system, probes)))
}

/** Where memory was really shared. */
export function sharing({ backends }: Probes): RoundTripName[] {
  return ROUND_TRIPS.filter((name) => works(backends[name].answers.roundTrip))
}

const works = (trip: BackendAnswers['roundTrip'] | undefined): boolean => trip !== undefined && trip.read && trip.written && trip.left === 0

function backend(system: System, name: Name, probes: Probes, below: readonly Check[]): Check {
  const probe = probes.backends[name]
  const crashed = crashFix(name, system, probes)
  const id = idOf('backend', name)
  const { unavailable, devices } = probe.answers
  if (unavailable === undefined) {
    // Without a step it never came to ask: the addon is missing.
    const status: Status = probe.step === '' ? 'unknown' : 'failed'
    return check(id, status, ending(probe) + printed(probe), status === 'unknown' ? {} : { fix: crashed })
  }
  if (unavailable === null) return check(id, 'absent', `this version of usm-ipc has no ${name} backend`, { data: { built: false } })
  if (unavailable !== '') {
    const cause = causeOf(system, name, probes, unavailable)
    const fix = cause?.fix ?? (BELOW[name] ?? []).map((on) => below.find((c) => c.id === on)?.fix).find((text) => text !== undefined)
    const isFault = name === 'host' || cause?.isNew === true || (name !== 'cuda' && hasIntelGpu(system))
    return check(id, isFault ? 'failed' : 'absent', cause?.text ?? unavailable, {
      fix: fix ?? generalFix(name, probes), data: { built: true, reason: unavailable },
    })
  }
  if (devices === undefined) return check(id, 'failed', ending(probe) + printed(probe), { fix: crashed })
  const line = devices.map((d) => `${d.selector} ${d.name}${d.software ? ' (software)' : ''}, UUID ${d.uuid}`).join('; ')
  return check(id, devices.length > 0 ? 'ok' : 'warning', devices.length > 0 ? line : 'it has no device', {
    data: { built: true, devices }, ...(devices.length > 0 ? {} : { fix: generalFix(name, probes) }),
  })
}

function causeOf(system: System, name: Name, probes: Probes, reason: string): Cause | undefined {
  if (name === 'sycl') return syclCause(system, probes, reason)
  return name === 'level_zero' ? levelZeroCause(system, probes) : undefined
}

const generalFix = (name: Name, { software }: Probes): string => (software && name !== 'host' ? REPORT : FIXES[name])

function crashFix(name: string, system: System, probes: Probes): string {
  if (name === 'host') return REPORT
  if (probes.software) return faultCause(system, probes)?.fix ?? REPORT
  return "update the GPU's driver, the loader and the SYCL runtime; if it stays, please send us this report"
}

function roundTrip(name: RoundTripName, probe: Probe<BackendAnswers>, isPidfdRefused: boolean, crashed: string, fault: Cause | undefined): Check {
  const id = idOf('round-trip', name)
  const { unavailable, roundTrip: trip } = probe.answers
  if (unavailable === undefined) return check(id, probe.step === '' ? 'unknown' : 'failed', `not reached: ${ending(probe)}`, probe.step === '' ? {} : { fix: crashed })
  if (unavailable === null || unavailable !== '') return check(id, 'absent', 'not tried: the backend cannot be used here')
  if (trip === undefined) return check(id, 'failed', ending(probe) + printed(probe), { fix: tripFix() })
  const data = { ...trip }
  const wrong = [
    trip.read ? '' : "the importer read other bytes than the exporter's",
    trip.written ? '' : "the exporter did not see the importer's bytes",
    trip.left === 0 ? '' : `${plural(trip.left, 'claim')} left in the books`,
  ].filter((text) => text !== '')
  if (wrong.length > 0) return check(id, 'failed', wrong.join('; '), { fix: REPORT, data })
  // Shared, and taken down again; a runtime that falls over its own end is its fault, and worth telling.
  if (probe.end !== 'done') return check(id, 'warning', `memory was shared, but then: ${ending(probe)}${printed(probe)}`, { fix: crashed, data })
  return check(id, 'ok', `${trip.device}${trip.software ? ' (software)' : ''}: ${trip.layout} handle of ${trip.handleBytes} bytes, opened in ${trip.openMs.toFixed(1)} ms (${trip.path}), read, written, closed`, { data })

  function tripFix(): string {
    if (name !== 'host' && isPidfdRefused && probe.step === OPENING) {
      return 'drivers of the opaque form take descriptors by pidfd_getfd, which is refused here: see permissions below'
    }
    if (name !== 'host' && fault !== undefined) return fault.fix
    return probe.end === 'failed' ? 'the message says what to do; if it does not, please send us this report' : crashed
  }
}
