// Builds the channel's stress test with ThreadSanitizer and runs it: `npm run test:tsan`.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-tsan-'))
const program = join(folder, 'fd_channel_tsan')
const sources = [
  'test/native/fd_channel_tsan.cc',
  'native/failure.cc',
  ...readdirSync(join(root, 'native/fd_channel'))
    .filter((name) => name.endsWith('.cc'))
    .map((name) => `native/fd_channel/${name}`),
]
const flags = ['-std=c++17', '-O1', '-g', '-fsanitize=thread', '-Wall', '-Wextra', '-Werror', '-Inative', '-pthread']

function run(command, args) {
  const { status, signal, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', timeout: 300_000 })
  if (error) throw error
  if (status !== 0) throw new Error(`${command} ended with ${signal ?? status}`)
}

try {
  run(process.env.CXX ?? 'g++', [...flags, '-o', program, ...sources])
  run(program, [])
} finally {
  rmSync(folder, { recursive: true })
}
