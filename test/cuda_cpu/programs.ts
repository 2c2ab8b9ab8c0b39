/** The C++ test programs: compiled once a test file, each case run in a process of its own on the built driver. */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { addonFolder } from '../support/addon_folder.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DRIVER = join(addonFolder, 'test-drivers/libcuda.so.1')
const FLAGS = ['-std=c++17', '-O1', '-g', '-Wall', '-Wextra', '-Werror', '-pthread', `-I${join(ROOT, 'native')}`]

export class Program {
  readonly cases: readonly string[]
  readonly #path: string

  /** @param name - of its source beside this file, without `.cc` */
  constructor(name: string) {
    const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-cuda-'))
    process.on('exit', () => rmSync(folder, { recursive: true }))
    this.#path = join(folder, name)
    const source = fileURLToPath(new URL(`${name}.cc`, import.meta.url))
    execFileSync(process.env['CXX'] ?? 'g++', [...FLAGS, source, '-ldl', '-o', this.#path], { stdio: ['ignore', 'ignore', 'inherit'] })
    this.cases = execFileSync(this.#path, ['lists']).toString().trim().split('\n')
  }

  /** What the case printed before it said that it is done. */
  async passes(t: ExecutionContext, name: string, env: Record<string, string> = {}): Promise<string[]> {
    // Nothing of the person's own settings reaches a program.
    const kept = Object.entries(process.env).filter(([variable]) => !/^(USM_IPC_CUDA_|CUDA_)/.test(variable))
    const options = { env: { ...Object.fromEntries(kept), ...env }, timeout: 60_000, killSignal: 'SIGKILL' as const }
    return new Promise((done) => {
      const child = execFile(this.#path, [DRIVER, name], options, (_error, stdout, stderr) => {
        t.is(child.exitCode, 0, `${name}: ${child.signalCode ?? child.exitCode}\n${stdout}${stderr}`)
        const lines = stdout.trimEnd().split('\n')
        t.is(lines.pop(), 'done')
        done(lines)
      })
    })
  }

  /** A test of each case. */
  testAll(environments: Record<string, Record<string, string>> = {}): void {
    for (const name of this.cases) test(name.replaceAll('_', ' '), (t) => this.passes(t, name, environments[name]).then(() => undefined))
  }
}
