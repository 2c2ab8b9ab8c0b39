/** Runs the bare program and ours with a driver in which one call fails. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { DEADLINE } from '../../support/child.ts'
import { startBare } from './bare.ts'
import { bareSteps, type FaultReport, type Outcome } from './fault_steps.ts'
import { LAYOUT, ROOT, ourEnvironment, type Adapter } from './runtime.ts'

const DEVICE_LOST = '0x70000001'
const UR_RESULT = /UR_RESULT_\w+/

/** `call`: its number, or * for every one. */
export interface Fault {
  name: string
  call: string
}

/** What SYCL says itself, without the number before it. */
const sentence = (text: string): string => /^\d+ ([^.!]+)/.exec(text)?.[1] ?? text
const variables = (fault: Fault | undefined): Record<string, string> => (fault ? { USM_IPC_ZE_FAULT: `${fault.name}:${fault.call}:${DEVICE_LOST}` } : {})
const isFatal = (stderr: string): boolean => stderr.includes('[FATAL UMF]')

export async function runBare(adapter: Adapter, handle: string, fault: Fault): Promise<Outcome> {
  const program = startBare({ adapter }, variables(fault))
  let outcome: Pick<Outcome, 'grade' | 'text'> = { grade: 'works', text: 'works' }
  for (const [step, command, expected] of bareSteps(handle)) {
    const { status, text } = await program.ask(command)
    if (status === 'ok' && (expected === undefined || text === expected) && !(step === 'get' && text === '')) continue
    if (status === 'error') outcome = { grade: 'error', text: `${step}: ${UR_RESULT.exec(text)?.[0] ?? sentence(text)}` }
    else if (status === 'null') outcome = { grade: 'silent', text: `${step}: a null pointer, no error` }
    else if (status === 'gone') outcome = { grade: 'crash', text: `${step}: crash` }
    else outcome = { grade: 'silent', text: step === 'get' ? 'get: an empty handle, no error' : `${step}: wrong bytes, no error` }
    break
  }
  const exit = await program.end()
  if (exit.signal !== null && outcome.grade !== 'crash') outcome = { grade: 'crash', text: `${outcome.text}, then ${exit.signal} at exit` }
  return { ...outcome, text: outcome.text.replace(/crash$/, String(exit.signal)), stdout: exit.stdout, fatal: isFatal(exit.stderr) }
}

interface Ended {
  signal: string | null
  code: number | null
  stdout: string
  stderr: string
}

function run(adapter: Adapter, handle: string, env: Record<string, string>): Promise<Ended> {
  const script = join(ROOT, 'test/sycl/children/fault.ts')
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath, ['--import=tsx', script, handle, LAYOUT[adapter]],
      { env: { ...process.env, ...ourEnvironment({ adapter }), ...env }, timeout: DEADLINE, killSignal: 'SIGKILL', maxBuffer: 1 << 24 },
      (_error, stdout, stderr) => resolve({ signal: child.signalCode, code: child.exitCode, stdout, stderr }),
    )
  })
}

export async function runOurs(adapter: Adapter, handle: string, fault: Fault): Promise<Outcome & { report?: FaultReport; code: number | null }> {
  const { signal, code, stdout, stderr } = await run(adapter, handle, variables(fault))
  const fatal = isFatal(stderr)
  let report: FaultReport | undefined
  try {
    report = JSON.parse(stdout) as FaultReport
  } catch {
    return { grade: 'crash', text: `${signal ?? code}, no report`, stdout, fatal, code }
  }
  const { step, error } = report
  const at = error === undefined ? 'works' : `${step}: ${UR_RESULT.exec(error.message ?? '')?.[0] ?? error.result ?? error.code}`
  if (signal !== null) return { grade: 'crash', text: `${at}, then ${signal} at exit`, stdout: '', fatal, report, code }
  return { grade: error === undefined ? 'works' : 'error', text: at, stdout: '', fatal, report, code }
}

/** How often a program calls each function of the driver. */
export async function driverCalls(adapter: Adapter, handle: string): Promise<Map<string, number>> {
  const counted = new Map<string, number>()
  const count = (trace: string): void => {
    const calls = new Map<string, number>()
    for (const [, name] of trace.matchAll(/^usm-ipc software driver: (ze\w+):/gm)) calls.set(name!, (calls.get(name!) ?? 0) + 1)
    for (const [name, times] of calls) counted.set(name, Math.max(counted.get(name) ?? 0, times))
  }
  const env = { USM_IPC_ZE_TRACE: 'calls' }
  count((await run(adapter, handle, env)).stderr)
  const program = startBare({ adapter }, env)
  for (const [, command] of bareSteps(handle)) await program.ask(command)
  count((await program.end()).stderr)
  return counted
}
