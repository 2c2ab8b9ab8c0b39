/** Runs the command line from its sources. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { DEADLINE, type Exit } from '../support/child.ts'

export const MAIN = fileURLToPath(new URL('../../host/cli/main.ts', import.meta.url))

export function cli(args: string[], options: { input?: string | Uint8Array; env?: Record<string, string>; cwd?: string } = {}): Promise<Exit> {
  const tsx = import.meta.resolve('tsx')
  const child = spawn(process.execPath, [`--import=${tsx}`, MAIN, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'], timeout: DEADLINE, killSignal: 'SIGKILL',
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }), env: { ...process.env, ...options.env },
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  // A command that reads no input may have ended before it was written.
  child.stdin.on('error', () => {})
  child.stdin.end(options.input ?? '')
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
}
