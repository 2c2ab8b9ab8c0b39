import { spawn } from 'node:child_process'

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

const DEADLINE = 120_000

/** This command line again, in a process of its own: a runtime that crashes, or that is chosen once a process, ends there. */
export function runSelf(args: readonly string[], options: { timeoutMs?: number; inherit?: boolean } = {}): Promise<Ended> {
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...args], {
    stdio: ['ignore', options.inherit ? 'inherit' : 'pipe', options.inherit ? 'inherit' : 'pipe'],
    timeout: options.timeoutMs ?? DEADLINE,
    killSignal: 'SIGKILL',
  })
  let [stdout, stderr] = ['', '']
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: null, stdout, stderr: error.message }))
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
}
