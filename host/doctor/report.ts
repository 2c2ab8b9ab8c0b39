/** The whole examination: runs the probes, makes the findings, takes out what is private. */
import { fileURLToPath } from 'node:url'
import { checkBackends, checkRoundTrips, sharing } from './backends.ts'
import { CHECKS, type Check, type CheckId, type Status } from './check.ts'
import { runTask } from './child.ts'
import { checkDescriptors } from './descriptors.ts'
import { checkGpu } from './gpu.ts'
import { checkLevelZero, loaderPath } from './level_zero.ts'
import { checkLimits } from './limits.ts'
import { checkMachine, checkPackage } from './machine.ts'
import { checkNamespaces } from './namespaces.ts'
import { checkPermissions } from './permissions.ts'
import type { BackendAnswers, KernelAnswers, LevelZeroAnswers, LibraryAnswers, Probe, Probes, RoundTripName } from './probe.ts'
import { scrub } from './scrub.ts'
import { checkSycl, isSyclHopeless, syclPath } from './sycl.ts'
import type { System } from './system.ts'
import { checkVariables } from './variables.ts'

/** Raised when a field changes its meaning or goes; new fields and new checks do not raise it. */
export const SCHEMA_VERSION = 1

export interface Report {
  schema: 'usm-ipc-doctor'
  schemaVersion: typeof SCHEMA_VERSION
  version: string
  /** With --software. */
  software: boolean
  /** At least one backend shares memory between two processes. */
  ok: boolean
  /** Those that do. */
  sharing: RoundTripName[]
  summary: Record<Status, number>
  checks: Check[]
}

export interface Examination {
  /** Of the package. */
  version: string
  software: boolean
  /** How long one probe may take. */
  seconds: number
}

export async function examine(system: System, examination: Examination): Promise<Report> {
  return reportOf(system, await probeAll(system, examination))
}

/** A pure function of what was read. */
export function reportOf(system: System, probes: Probes): Report {
  const runtimes = [...checkLevelZero(system, probes), ...checkSycl(system, probes)]
  const found = [
    ...checkPackage(system, probes), ...checkMachine(system, probes), ...checkVariables(system), ...checkGpu(system, probes),
    ...runtimes, ...checkBackends(system, probes, runtimes), ...checkRoundTrips(system, probes),
    ...checkPermissions(system, probes), ...checkNamespaces(system), ...checkDescriptors(system, probes), ...checkLimits(system),
  ]
  const order = Object.keys(CHECKS) as CheckId[]
  const checks = found.sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id)).map(({ detail, fix, data, ...rest }) => ({ ...rest, ...scrub({ detail, fix, data }, system) }))
  const count = (status: Status): number => checks.filter((c) => c.status === status).length
  const shares = sharing(probes)
  return {
    schema: 'usm-ipc-doctor', schemaVersion: SCHEMA_VERSION, version: probes.version, software: probes.software, ok: shares.length > 0, sharing: shares,
    summary: { ok: count('ok'), warning: count('warning'), failed: count('failed'), unknown: count('unknown'), absent: count('absent') },
    checks: checks as Check[],
  }
}

async function probeAll(system: System, { version, software, seconds }: Examination): Promise<Probes> {
  const env: Record<string, string> = software ? { USM_IPC_SOFTWARE_DRIVER: '1' } : {}
  const addonPath = system.variable('USM_IPC_ADDON') ?? fileURLToPath(new URL('../../build/Release/usm_ipc.node', import.meta.url))
  const loader = loaderPath(system, addonPath.replace(/\/?[^/]*$/, ''), software)
  const backend = (name: string, more: Record<string, string> = {}) => (): Promise<Probe<BackendAnswers>> =>
    runTask('backend', [name, String(Math.ceil(seconds / 2))], { env: { ...env, ...more }, seconds })
  const [kernel, levelZero, libraries, host, level_zero, sycl, cuda] = await inTurns([
    () => runTask<KernelAnswers>('kernel', [], { seconds }),
    () => runTask<LevelZeroAnswers>('level-zero', [loader], { env, seconds }),
    () => runTask<LibraryAnswers>('libraries', [syclPath(system)], { seconds }),
    backend('host'), backend('level_zero'), backend('sycl'), backend('cuda'),
  ])
  const probes = { software, version, addonPath, kernel, levelZero, libraries }
  // Another adapter brings back neither a loader nor a runtime that is missing.
  const [v1, v2] = sycl.answers.unavailable !== '' && isSyclHopeless(probes)
    ? [sycl, sycl]
    : await inTurns([backend('sycl', { SYCL_UR_USE_LEVEL_ZERO_V2: '0' }), backend('sycl', { SYCL_UR_USE_LEVEL_ZERO_V2: '1' })])
  return { ...probes, backends: { host, level_zero, sycl, 'sycl-v1': v1, 'sycl-v2': v2, cuda } }
}

type Tasks<Results extends readonly unknown[]> = { [I in keyof Results]: () => Promise<Results[I]> }

/** A few at a time, so that none is slow because of the others. */
async function inTurns<Results extends readonly unknown[]>(tasks: readonly [...Tasks<Results>], width = 3): Promise<Results> {
  const results: unknown[] = []
  const queue = [...tasks.entries()]
  const run = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) results[next[0]] = await next[1]()
  }
  await Promise.all(Array.from({ length: width }, run))
  return results as unknown as Results
}
