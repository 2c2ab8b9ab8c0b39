/** `usm-ipc share` in a process of its own, from when it is ready until it is ended. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Exit } from '../support/child.ts'
import { fileURLToPath } from 'node:url'
import { MAIN } from './run_cli.ts'

/** What goes on until a test ends it outlives a slow machine, but not a test that failed. Milliseconds. */
const LIFETIME = 170_000

export interface Ready {
  socket: string
  pid: number
  device: string
  nbytes: number
  names: string[]
  empty: number
}

export interface Sharing {
  ready: Ready
  process: ChildProcess
  /** Ends it with a signal, SIGINT where it is left out; resolves with how it went. */
  stop: (signal?: NodeJS.Signals) => Promise<Exit>
  exited: Promise<Exit>
}

/** What users have, where it is its speed that is looked at. */
export const BUILT = [fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))]
const SOURCES = [`--import=${import.meta.resolve('tsx')}`, MAIN]

/** The command line, as a child that goes on. */
export function start(args: readonly string[], env: Record<string, string> = {}, timeout = LIFETIME, program: readonly string[] = SOURCES): { process: ChildProcess; exited: Promise<Exit>; line: Promise<string> } {
  const child = spawn(process.execPath, [...program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'], timeout, killSignal: 'SIGKILL', env: { ...process.env, ...env },
  })
  let [stdout, stderr] = ['', '']
  const exited = new Promise<Exit>((resolve) => child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr })))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const line = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      if (stdout.includes('\n')) resolve(stdout.slice(0, stdout.indexOf('\n')))
    })
    void exited.then(({ code, signal }) => reject(new Error(`ended with ${signal ?? code}: ${stderr}`)))
  })
  line.catch(() => {}) // asked for or not
  return { process: child, exited, line }
}

export async function share(args: readonly string[], env: Record<string, string> = {}, timeout?: number): Promise<Sharing> {
  const { process: child, exited, line } = start(['share', '--json', ...args], env, timeout)
  const ready = JSON.parse(await line) as Ready
  return {
    ready, process: child, exited,
    stop: async (signal = 'SIGINT') => {
      child.kill(signal)
      return exited
    },
  }
}

/** A short path, since a socket's must be; removed at the end. */
export function scratch(after: (cleanUp: () => void) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'us-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Where the command line shares: the host's memory, and the software driver by both of its ways. */
export const DEVICES = ['host', 'level_zero', 'sycl'] as const
export const software = (device: string): string[] => (device === 'host' ? [] : ['--software'])
