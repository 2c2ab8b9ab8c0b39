// `npm ci` and `npm pack` build everything; what is newer than all of its sources is not built again.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runtime } from './sycl_runtime.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

const newest = (path) => {
  const stat = statSync(root + path)
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(stat.mtimeMs, ...readdirSync(root + path).map((entry) => newest(`${path}/${entry}`)))
}
const stale = (target, sources) =>
  !existsSync(root + target) || statSync(root + target).mtimeMs < Math.max(...sources.map(newest))

const steps = [
  ['build:wasm', 'host/core/names.generated.ts', ['assembly', 'asconfig.json', 'scripts/generate.mjs']],
  ['build:addon', 'build/Release/usm_ipc.node', ['native', 'CMakeLists.txt']],
  ['build:sycl', 'build/Release/libusm_ipc_sycl.so', ['native/sycl', 'native/level_zero'], () => runtime() !== undefined],
  ['build:ts', 'dist/index.js', ['host', 'tsconfig.json', 'tsconfig.build.json']],
]
for (const [script, target, sources, isPossible = () => true] of steps) {
  if (!isPossible() || !stale(target, sources)) continue
  console.error(`usm-ipc: ${script}`)
  const { status } = spawnSync('npm', ['run', '--silent', script], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) {
    console.error(`usm-ipc: \`npm run ${script}\` failed. The build needs Node >= 20.19, cmake and g++ (Debian: apt-get install cmake g++ make).`)
    process.exit(1)
  }
}
