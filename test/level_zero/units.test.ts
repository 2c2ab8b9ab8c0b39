import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { compile } from './compile.ts'

const SOURCES = [
  'test/level_zero/units.cc', 'native/backends/level_zero_handle.cc', 'native/backends/descriptor_identity.cc',
  'native/backends/sealed_memfd.cc', 'native/failure.cc', 'native/process_identity.cc',
]

test('handles are patched and descriptors are checked as they must be, and a peer cannot make that wait', (t) => {
  const program = compile(SOURCES, ['-Inative'])
  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-units-'))
  t.teardown(() => {
    program.remove()
    rmdirSync(folder)
  })
  const { stdout, stderr, status } = spawnSync(program.path, [folder], { encoding: 'utf8', timeout: 30_000 })
  const lines = stdout.split('\n').filter((line) => line !== '')
  t.deepEqual(lines.filter((line) => line.startsWith('FAILED')), [])
  t.is(status, 0, stderr)
  t.true(lines.filter((line) => line.startsWith('ok ')).length >= 42)
  // It needs the right to mount.
  for (const line of lines.filter((line) => line.startsWith('skipped'))) t.log(line)
})
