// `npm run build:sycl [-- FOLDER]`: builds libusm_ipc_sycl.so beside the addon in FOLDER (build/Release) unless it is
// newer than everything that it is made of.
//   --sanitize  in build-sanitize/Release, with the sanitizers
//   --optional  does nothing where there is no SYCL runtime
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runtime } from './sycl_runtime.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const options = process.argv.slice(2).filter((argument) => argument.startsWith('--'))
const [folder] = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const sanitize = options.includes('--sanitize')
const output = resolve(root, folder ?? (sanitize ? 'build-sanitize/Release' : 'build/Release'))
const library = join(output, 'libusm_ipc_sycl.so')

const sycl = runtime()
if (sycl === undefined) {
  if (options.includes('--optional')) process.exit(0)
  console.error('usm-ipc: there is no SYCL runtime to build against: run `npm run setup:sycl`, or set USM_IPC_SYCL to its folder')
  process.exit(1)
}

const newest = (path) => {
  const stat = statSync(path)
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((entry) => newest(join(path, entry))))
}
const sources = ['native/sycl', 'native/level_zero', 'scripts/build_sycl.mjs'].map((path) => join(root, path))
if (existsSync(library) && statSync(library).mtimeMs >= Math.max(...sources.map(newest))) process.exit(0)

const cmake = (...args) => {
  const { status, stdout, stderr } = spawnSync('cmake', args, { encoding: 'utf8' })
  if (status === 0) return
  console.error(stdout, stderr)
  console.error('usm-ipc: building libusm_ipc_sycl.so failed; it needs cmake >= 3.18 and g++ >= 12 (Debian: apt-get install cmake g++ make)')
  process.exit(1)
}
const build = join(dirname(output), 'sycl')
cmake(
  '-S', join(root, 'native/sycl'), '-B', build,
  `-DSYCL_ROOT=${sycl}`, `-DOUTPUT_FOLDER=${output}`, `-DUSM_IPC_SANITIZE=${sanitize ? 'ON' : 'OFF'}`,
)
cmake('--build', build, '--parallel', '2')
