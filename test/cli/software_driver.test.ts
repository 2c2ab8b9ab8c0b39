import test from 'ava'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { DRIVER_FOLDER, SYCL } from '../sycl/support/runtime.ts'
import { syclTest } from '../sycl/support/sycl_test.ts'
import { cli } from './run_cli.ts'

const docs = readFileSync(new URL('../../docs/software-driver.md', import.meta.url), 'utf8')

test('software-driver says where the driver is and how to use it', async (t) => {
  const { code, stdout, stderr } = await cli(['software-driver'])
  t.is(code, 0, stderr)
  t.is(stderr, '')
  for (const word of ['--software', 'USM_IPC_SOFTWARE_DRIVER=1', 'ZEL_LIBRARY_PATH', 'LD_LIBRARY_PATH', 'ZE_ENABLE_ALT_DRIVERS', 'USM_IPC_ZE_HANDLES', 'USM_IPC_ZE_FAULT']) {
    t.true(stdout.includes(word), word)
  }
  t.true(stdout.includes((await cli(['software-driver', '--path'])).stdout))
})

test('--path is the folder alone', async (t) => {
  const { code, stdout } = await cli(['software-driver', '--path'])
  t.is(code, 0)
  const folder = stdout.trimEnd()
  t.is(stdout, `${folder}\n`)
  t.true(isAbsolute(folder))
  for (const name of ['libze_loader.so.1', 'libze_usm_ipc_cpu.so']) t.true(existsSync(join(folder, name)), name)
})

test('--json is for scripts', async (t) => {
  const { code, stdout } = await cli(['software-driver', '--json'])
  t.is(code, 0)
  const { folder, loader, driver, variables } = JSON.parse(stdout) as Record<string, string>
  t.is(loader, join(folder!, 'libze_loader.so.1'))
  t.is(driver, join(folder!, 'libze_usm_ipc_cpu.so'))
  t.deepEqual(Object.keys(variables!).sort(), [...docs.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name!).sort(), 'those of the documentation')
})

syclTest('the C++ program of the documentation, compiled and run as it says', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-program-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const [, program = ''] = /^```cpp\n([^]*?)^```/m.exec(docs) ?? []
  writeFileSync(join(folder, 'program.cpp'), program)
  const [, compile = '', run = '', output = ''] = /^\$ (g\+\+ .*)\n\$ (ZEL_LIBRARY_PATH=.*)\n(.*)$/m.exec(docs) ?? []
  const env = { ...process.env, S: SYCL, DRIVER: DRIVER_FOLDER }
  const printed = execFileSync('sh', ['-c', `${compile} && ${run}`], { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  t.is(printed, `${output}\n`)
  t.regex(output, /^usm-ipc software device 0/)
})

test('a driver that was not built is named, with what builds it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-none-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const addon = join(folder, 'usm_ipc.node')
  writeFileSync(addon, '')
  for (const option of [[], ['--path'], ['--json']]) {
    const { code, stdout, stderr } = await cli(['software-driver', ...option], { env: { USM_IPC_ADDON: addon } })
    t.is(code, 1)
    t.is(stdout, '')
    t.true(stderr.includes(join(folder, 'software-driver', 'libze_loader.so.1')))
    t.regex(stderr, /npm run build:addon/)
  }
})
