// `npm run test:sanitize`: the suite (or the files that are named) on an addon built with AddressSanitizer and UndefinedBehaviorSanitizer.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const run = (command, args, env = {}) =>
  spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } }).status ?? 1

const library = execFileSync('g++', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).trim()
if (!existsSync(library)) {
  console.error('libasan.so is missing: it comes with g++ (Debian: libgcc-12-dev)')
  process.exit(1)
}
const built = run('npx', ['cmake-js', 'compile', '-O', 'build-sanitize', '--CDUSM_IPC_SANITIZE=ON', '--CDUSM_IPC_FAULTS=ON', '--log-level', 'error'])
if (built !== 0) process.exit(built)
const sycl = run('node', ['scripts/build_sycl.mjs', '--sanitize'])
if (sycl !== 0) process.exit(sycl)

// All but what runs no native code of ours (the core is wasm, a file's header is JavaScript's), what does the same natively as
// another file (sharing on CUDA), and what starts a dozen processes for each question, which is most of the time.
const WITH_NATIVE = ['test/**/*.test.ts', '!test/core/**', '!test/docs/**', '!test/cli/{inspect,doctor,demo}.test.ts', '!test/safetensors/header.test.ts', '!test/array.test.ts',
  '!test/sharing/**/cuda*.test.ts', '!test/safetensors/load_cuda.test.ts']
const patterns = process.argv.slice(2)

// Leaks are counted by the tests themselves (descriptors, mappings, both books): the programs around the addon, Node and
// Python, leak at exit by design.
process.exit(run('npx', ['ava', ...(patterns.length > 0 ? patterns : WITH_NATIVE)], {
  USM_IPC_ADDON: `${root}build-sanitize/Release/usm_ipc.node`,
  USM_IPC_SANITIZED: '1',
  LD_PRELOAD: library,
  ASAN_OPTIONS: 'detect_leaks=0:halt_on_error=1:abort_on_error=0:exitcode=99',
  UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
}))
