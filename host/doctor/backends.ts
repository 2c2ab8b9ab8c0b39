/** Which backends can be used, and whether two processes really share memory through them. */
import { check, plural, type Check, type CheckId, type Status } from './check.ts'
import { hasIntelGpu } from './gpu.ts'
import { OPENING, ROUND_TRIPS, ending, printed, type BackendAnswers, type Probe, type Probes, type RoundTripName } from './probe.ts'
import type { System } from './system.ts'

/** Those that have a device of their own kind to be found. */
const BACKENDS = ['host', 'level_zero', 'sycl', 'cuda'] as const
const FIXES: Record<(typeof BACKENDS)[number], string> = {
  host: 'it needs nothing but the addon and memfds: see above',
  level_zero: 'a Level Zero loader and a driver, as said above; to try without hardware: usm-ipc doctor --software',
  sycl: 'a Level Zero loader of 1.20 or newer, a driver, and the SYCL runtime, as said above; to try without hardware: usm-ipc doctor --software',
  cuda: 'use a version of usm-ipc that has it',
}

const idOf = <Kind extends 'backend' | 'round-trip'>(kind: Kind, name: RoundTripName): CheckId => `${kind}-${name.replace('_', '-')}` as CheckId

export function checkBackends(system: System, { backends }: Probes): Check[] {
  return BACKENDS.map((name) => backend(system, name, backends[name]))
}

export function checkRoundTrips({ backends, kernel }: Probes): Check[] {
  const { self } = kernel.answers.pidfd ?? {}
  const isPidfdRefused = self !== undefined && (self.open !== '' || self.getfd !== '')
  return ROUND_TRIPS.map((name) => roundTrip(name, backends[name], isPidfdRefused))
}

/** Where memory was really shared. */
export function sharing({ backends }: Probes): RoundTripName[] {
  return ROUND_TRIPS.filter((name) => works(backends[name].answers.roundTrip))
}

const works = (trip: BackendAnswers['roundTrip'] | undefined): boolean => trip !== undefined && trip.read && trip.written && trip.left === 0

function backend(system: System, name: (typeof BACKENDS)[number], probe: Probe<BackendAnswers>): Check {
  const id = idOf('backend', name)
  const { unavailable, devices } = probe.answers
  if (unavailable === undefined) {
    // Without a step it never came to ask: the addon is missing.
    const status: Status = probe.step === '' ? 'unknown' : 'failed'
    return check(id, status, ending(probe) + printed(probe), status === 'unknown' ? {} : { fix: crashFix(name) })
  }
  if (unavailable === null) return check(id, 'absent', `this version of usm-ipc has no ${name} backend`, { data: { built: false } })
  if (unavailable !== '') {
    const isFault = name === 'host' || (name !== 'cuda' && hasIntelGpu(system))
    return check(id, isFault ? 'failed' : 'absent', unavailable, { fix: FIXES[name], data: { built: true, reason: unavailable } })
  }
  if (devices === undefined) return check(id, 'failed', ending(probe) + printed(probe), { fix: crashFix(name) })
  const line = devices.map((d) => `${d.selector} ${d.name}${d.software ? ' (software)' : ''}, UUID ${d.uuid}`).join('; ')
  return check(id, devices.length > 0 ? 'ok' : 'warning', devices.length > 0 ? line : 'it has no device', {
    data: { built: true, devices }, ...(devices.length > 0 ? {} : { fix: FIXES[name] }),
  })
}

const crashFix = (name: string): string =>
  name === 'host' ? 'please send us this report' : "update the GPU's driver, the loader and the SYCL runtime; if it stays, please send us this report"

function roundTrip(name: RoundTripName, probe: Probe<BackendAnswers>, isPidfdRefused: boolean): Check {
  const id = idOf('round-trip', name)
  const { unavailable, roundTrip: trip } = probe.answers
  if (unavailable === undefined) return check(id, probe.step === '' ? 'unknown' : 'failed', `not reached: ${ending(probe)}`, probe.step === '' ? {} : { fix: crashFix(name) })
  if (unavailable === null || unavailable !== '') return check(id, 'absent', 'not tried: the backend cannot be used here')
  if (trip === undefined) return check(id, 'failed', ending(probe) + printed(probe), { fix: tripFix(name, probe, isPidfdRefused) })
  const data = { ...trip }
  const wrong = [
    trip.read ? '' : "the importer read other bytes than the exporter's",
    trip.written ? '' : "the exporter did not see the importer's bytes",
    trip.left === 0 ? '' : `${plural(trip.left, 'claim')} left in the books`,
  ].filter((text) => text !== '')
  if (wrong.length > 0) return check(id, 'failed', wrong.join('; '), { fix: 'please send us this report', data })
  // Shared, and taken down again; a runtime that falls over its own end is its fault, and worth telling.
  if (probe.end !== 'done') return check(id, 'warning', `memory was shared, but then: ${ending(probe)}${printed(probe)}`, { fix: crashFix(name), data })
  return check(id, 'ok', `${trip.device}${trip.software ? ' (software)' : ''}: ${trip.layout} handle of ${trip.handleBytes} bytes, opened in ${trip.openMs.toFixed(1)} ms (${trip.path}), read, written, closed`, { data })
}

function tripFix(name: RoundTripName, probe: Probe<BackendAnswers>, isPidfdRefused: boolean): string {
  if (name !== 'host' && isPidfdRefused && probe.step === OPENING) {
    return 'drivers of the opaque form take descriptors by pidfd_getfd, which is refused here: see permissions below'
  }
  return probe.end === 'failed' ? 'the message says what to do; if it does not, please send us this report' : crashFix(name)
}
