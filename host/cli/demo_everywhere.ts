/** The demo on every backend that this machine has, each in a process of its own: a runtime is chosen once a process. */
import { type BackendName } from '../core/names.generated.ts'
import { fileSize, type Result } from './demo.ts'
import { bold, dim, red } from './output.ts'
import { runSelf } from './run_self.ts'
import { isSoftwareAsked, softwareListing, type Listing } from './software.ts'

export interface Everywhere {
  ok: boolean
  runs: (Result | { ok: false; device: string; error: string })[]
  /** Backends that could not be used, and what would bring each. */
  absent: { backend: string; reason: string }[]
}

interface Job {
  selector: string
  software: boolean
}

export async function demoEverywhere(file: string, say: (line: string) => void, json: boolean): Promise<Everywhere> {
  await fileSize(file)
  const { jobs, absent } = await plan()
  const runs: Everywhere['runs'] = []
  for (const { selector, software } of jobs) {
    say(bold(`\n${selector}${software ? ' (software)' : ''}`))
    const args = ['demo', ...(software ? ['--software'] : []), '--device', selector, file]
    // One after the other, and the people's form as it comes.
    const { code, signal, stdout, stderr } = await runSelf(json ? [...args, '--json'] : args, { inherit: !json, timeoutMs: 0 })
    runs.push(json && stdout.startsWith('{')
      ? (JSON.parse(stdout) as Result)
      : ({ ok: code === 0, device: selector, error: code === 0 ? '' : `ended with ${signal ?? code}: ${stderr.trim()}` } as Everywhere['runs'][number]))
  }
  say('')
  for (const { backend, reason } of absent) say(dim(`${backend}: ${reason}`))
  const ok = runs.every((run) => run.ok)
  say(ok ? bold(`${runs.length} of ${runs.length} backends: digests equal, books empty`) : red(`${runs.filter((r) => !r.ok).length} of ${runs.length} FAILED: see above`))
  return { ok, runs, absent }
}

async function plan(): Promise<{ jobs: Job[]; absent: Everywhere['absent'] }> {
  const here = await listing(isSoftwareAsked())
  const software = isSoftwareAsked() ? here : await softwareListing()
  const jobs: Job[] = []
  const absent: Everywhere['absent'] = []
  for (const { backend, available, reason } of here.backends) {
    if (available) jobs.push({ selector: backend, software: false })
    const bySoftware = typeof software === 'object' && software.backends.some((b) => b.backend === backend && b.available)
    const isDriver = SOFTWARE.includes(backend)
    if (isDriver && bySoftware && !isSoftwareAsked()) jobs.push({ selector: backend, software: true })
    else if (!available) absent.push({ backend, reason: (isDriver && typeof software === 'object' && softwareReason(software, backend)) || reason })
  }
  // Never left out in silence: without it the demo has failed.
  if (!jobs.some((job) => job.selector === 'level_zero')) {
    jobs.push({ selector: 'level_zero', software: true })
    if (typeof software === 'string') absent.push({ backend: 'software driver', reason: software })
  }
  return { jobs, absent }
}

/** What runs on the software Level Zero driver. */
const SOFTWARE: readonly BackendName[] = ['level_zero', 'sycl']

function softwareReason(software: Listing, backend: string): string {
  return software.backends.find((b) => b.backend === backend)?.reason ?? ''
}

async function listing(software: boolean): Promise<Listing> {
  const { code, signal, stdout, stderr } = await runSelf(['devices', '--json', '--own', ...(software ? ['--software'] : [])])
  if (code !== 0) throw new Error(`\`usm-ipc devices\` ended with ${signal ?? code}: ${stderr.trim()}`)
  return JSON.parse(stdout) as Listing
}
