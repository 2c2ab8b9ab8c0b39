/** Compiles the tests' C and C++ programs, each once for all test files. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ADDON_FOLDER, ROOT, SYCL } from './runtime.ts'

const OUTPUT = join(ADDON_FOLDER, '../test-programs')

function compiled(source: string, compiler: string, options: string[], newerThan: string[]): string {
  const program = join(OUTPUT, basename(source).replace(/\.cc?$/, ''))
  const newest = Math.max(...[source, ...newerThan].map((path) => statSync(path).mtimeMs))
  if (existsSync(program) && statSync(program).mtimeMs >= newest) return program
  mkdirSync(OUTPUT, { recursive: true })
  const unfinished = `${program}.${process.pid}`
  execFileSync(compiler, ['-Wall', '-Wextra', '-Werror', '-O1', source, '-o', unfinished, ...options], { stdio: ['ignore', 'inherit', 'inherit'] })
  renameSync(unfinished, program)
  return program
}

/** A C++ program over the runtime's own headers; nothing of ours is on its include path. */
export function compileBare(name: string): string {
  return compiled(join(ROOT, 'test/sycl', name), 'g++', [
    '-std=c++17', '-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING', '-isystem', join(SYCL, 'include'),
    '-L', join(SYCL, 'lib'), '-lsycl', `-Wl,-rpath,${join(SYCL, 'lib')}`,
  ], [])
}

/** A C or C++ program over our C interface; nothing of the runtime's is on its include path. */
export function compileUser(name: string): string {
  const [compiler, standard] = name.endsWith('.c') ? ['gcc', '-std=c11'] : ['g++', '-std=c++17']
  return compiled(join(ROOT, 'test/sycl', name), compiler!, [
    standard!, '-pedantic', '-I', join(ROOT, 'native/sycl'),
    '-L', ADDON_FOLDER, '-lusm_ipc_sycl', `-Wl,-rpath,${ADDON_FOLDER}:${join(SYCL, 'lib')}`, `-Wl,-rpath-link,${join(SYCL, 'lib')}`,
    '-Wl,--disable-new-dtags', // the library's own needs are looked up there too
  ], [join(ROOT, 'native/sycl/usm_ipc_sycl.h')])
}

/** A C++ test of the addon's own files, without the addon. */
export function compileUnits(name: string, files: string[]): string {
  const sources = files.map((file) => join(ROOT, 'native', file))
  return compiled(join(ROOT, 'test/sycl', name), 'g++', ['-std=c++17', '-I', join(ROOT, 'native'), ...sources], sources)
}
