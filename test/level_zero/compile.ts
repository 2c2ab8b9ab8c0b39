/** C++ programs that a test builds for itself. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FLAGS = ['-std=c++17', '-O1', '-Wall', '-Wextra', '-Werror', '-Wno-unused-parameter', '-pthread']

export interface Program {
  folder: string
  path: string
  remove(): void
}

/** @param sources - relative to the repository */
export function compile(sources: string[], flags: string[] = [], name = 'program'): Program {
  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-program-'))
  chmodSync(folder, 0o755) // programs that other users run, too
  const path = join(folder, name)
  const compiler = process.env['CXX'] ?? 'g++'
  const { status, stderr, error } = spawnSync(compiler, [...FLAGS, '-o', path, ...sources, ...flags, '-ldl'], { cwd: ROOT, encoding: 'utf8' })
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  if (error === undefined && status === 0) return { folder, path, remove }
  remove()
  throw new Error(`${compiler} does not build ${sources[0]}: ${error?.message ?? stderr}`)
}
