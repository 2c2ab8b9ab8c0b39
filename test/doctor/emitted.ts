/** The command line as JavaScript, in a folder of its own: a doctor starts itself a dozen times, and none then waits for a compiler. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** @returns the path of its main program */
export function emit(folder: string): string {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  const options = ['--noCheck', '--declaration', 'false', '--sourceMap', 'false', '--inlineSources', 'false', '--outDir', join(folder, 'dist')]
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', join(ROOT, 'tsconfig.build.json'), ...options], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stdout)
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return join(folder, 'dist/cli/main.js')
}
