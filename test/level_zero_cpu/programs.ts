/** The C++ test programs: compiled once a test file, each case run in a process of its own on the built driver. */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ExecutionContext } from 'ava'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const ADDON = resolve(process.env['USM_IPC_ADDON'] ?? join(ROOT, 'build/Release/usm_ipc.node'))

export const DRIVER_FOLDER = join(dirname(ADDON), 'software-driver')
export const DRIVER = join(DRIVER_FOLDER, 'libze_loader.so.1')
export const COMPILER = process.env['CXX'] ?? 'g++'
export const FLAGS = ['-std=c++17', '-O1', '-g', '-Wall', '-Wextra', '-Werror', '-pthread', `-I${join(ROOT, 'native')}`]

/** Nothing of the person's own settings reaches a program. */
function environment(more: Record<string, string>): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(USM_IPC_ZE_|ZE_|ZEL_)/.test(name))
  return { ...Object.fromEntries(kept), ...more }
}

export interface Outcome {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export class Program {
  readonly cases: readonly string[]
  readonly #path: string

  /** @param name - of its source beside this file, without `.cc` */
  constructor(name: string) {
    const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-ze-'))
    process.on('exit', () => rmSync(folder, { recursive: true }))
    this.#path = join(folder, name)
    const sources = [join(FOLDER, `${name}.cc`), join(ROOT, 'native/level_zero/results.cc')]
    execFileSync(COMPILER, [...FLAGS, ...sources, '-ldl', '-o', this.#path], { stdio: ['ignore', 'ignore', 'inherit'] })
    this.cases = execFileSync(this.#path, ['lists']).toString().trim().split('\n')
  }

  run(name: string, env: Record<string, string> = {}, driver = DRIVER): Promise<Outcome> {
    return new Promise((done) => {
      const options = { env: environment(env), timeout: 60_000, killSignal: 'SIGKILL' as const }
      const child = execFile(this.#path, [driver, name], options, (_error, stdout, stderr) => {
        done({ code: child.exitCode, signal: child.signalCode, stdout, stderr })
      })
    })
  }

  /** What the case printed before it said that it is done. */
  async passes(t: ExecutionContext, name: string, env: Record<string, string> = {}, driver = DRIVER): Promise<string[]> {
    const { code, signal, stdout, stderr } = await this.run(name, env, driver)
    t.is(code, 0, `${name}: ${signal ?? code}\n${stdout}${stderr}`)
    const lines = stdout.trimEnd().split('\n')
    t.is(lines.pop(), 'done')
    return lines
  }
}
