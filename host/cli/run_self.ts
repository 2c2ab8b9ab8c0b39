/** This command line again, in a process of its own: a runtime that crashes, or that is chosen once a process, ends there. */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

const DEADLINE = 120_000

/** The same JavaScript runtime and the same command line, with another command. */
export function startSelf(args: readonly string[], stdio: StdioOptions, env: NodeJS.ProcessEnv = process.env): ChildProcess {
  const runtime = process.versions as { deno?: string }
  const before = runtime.deno === undefined ? process.execArgv : ['run', '--allow-all']
  return spawn(process.execPath, [...before, process.argv[1]!, ...args], { stdio, env })
}

/** Runs it to its end, or to a deadline (`timeoutMs` 0: none); never rejects. */
export function runSelf(args: readonly string[], options: { timeoutMs?: number; inherit?: boolean } = {}): Promise<Ended> {
  const output = options.inherit ? 'inherit' : 'pipe'
  const child = startSelf(args, ['ignore', output, output])
  const { timeoutMs = DEADLINE } = options
  const timer = timeoutMs === 0 ? undefined : setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  let [stdout, stderr] = ['', '']
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve) => {
    const end = (code: number | null, signal: NodeJS.Signals | null): void => {
      clearTimeout(timer)
      resolve({ code, signal, stdout, stderr })
    }
    child.once('error', (error) => {
      stderr += error.message
      end(null, null)
    })
    child.once('close', end)
  })
}
