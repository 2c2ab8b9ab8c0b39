// `npm run test:tsan`: the stress tests of the channel and of the software Level Zero driver, with ThreadSanitizer.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-tsan-'))
const compiler = process.env.CXX ?? 'g++'
const flags = ['-std=c++17', '-O1', '-g', '-fsanitize=thread', '-Wall', '-Wextra', '-Werror', '-Inative', '-pthread']
const sources = (path) => readdirSync(join(root, path)).filter((name) => name.endsWith('.cc')).map((name) => `${path}/${name}`)

function run(command, args, stdout = 'inherit') {
  const result = spawnSync(command, args, { cwd: root, stdio: ['ignore', stdout, 'inherit'], encoding: 'utf8', timeout: 300_000 })
  if (result.error) throw result.error
  if (result.status !== 0) throw new Error(`${command} ended with ${result.signal ?? result.status}`)
  return result.stdout
}

function channel() {
  const program = join(folder, 'fd_channel')
  run(compiler, [...flags, '-o', program, 'test/native/fd_channel_tsan.cc', 'native/failure.cc', ...sources('native/fd_channel')])
  run(program, [])
}

function driver() {
  const library = join(folder, 'libze_loader.so.1')
  const shared = ['-fPIC', '-fvisibility=hidden', '-shared', '-Wl,-Bsymbolic', '-Wl,-soname,libze_loader.so.1']
  run(compiler, [...flags, ...shared, ...sources('native/level_zero_cpu'), 'native/level_zero/results.cc', '-o', library])
  const program = join(folder, 'level_zero_cpu')
  run(compiler, [...flags, 'test/level_zero_cpu/stress.cc', 'native/level_zero/results.cc', '-ldl', '-o', program])
  const cases = run(program, [library], 'pipe').split('\n').filter((line) => line !== '')
  if (cases.length === 0) throw new Error('the stress program lists no cases')
  for (const name of cases) run(program, [library, name])
}

try {
  channel()
  driver()
} finally {
  rmSync(folder, { recursive: true })
}
