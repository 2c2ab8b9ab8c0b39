/** What the backend says where it cannot be used: what is missing, and what brings it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ADDON_FOLDER, DRIVER_FOLDER, ROOT, SYCL, ourEnvironment } from './support/runtime.ts'
import { syclTest } from './support/sycl_test.ts'

const NOWHERE = '/nonexistent'
/** Nothing of the user's that would bring a runtime after all. */
const none = { VIRTUAL_ENV: '', CMPLR_ROOT: '', ONEAPI_ROOT: '', LD_LIBRARY_PATH: '' }

/** Asked twice, because asking is free. */
function reason(env: Record<string, string>): string {
  const code = `import { listBackends } from ${JSON.stringify(join(ROOT, 'host/index.ts'))}
    const ask = () => listBackends().find(({ backend }) => backend === 'sycl')
    console.log(JSON.stringify([ask(), ask()]))`
  const { stdout, stderr, signal } = spawnSync(process.execPath, ['--import=tsx', '--input-type=module', '--eval', code], {
    cwd: ROOT, encoding: 'utf8', env: { ...process.env, ...ourEnvironment({ adapter: 'v2' }), ...none, ...env },
  })
  if (stdout === '') throw new Error(`${signal} ${stderr}`)
  const [first, second] = JSON.parse(stdout) as { available: boolean; reason: string }[]
  if (first!.reason !== second!.reason) throw new Error(`${first!.reason} and then ${second!.reason}`)
  return first!.reason
}

function inFolder(body: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-'))
  try {
    body(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

syclTest('nothing is missing', (t) => {
  t.is(reason({}), '')
})

syclTest('no SYCL runtime', (t) => {
  t.regex(reason({ USM_IPC_SYCL: NOWHERE, XDG_CACHE_HOME: NOWHERE }), /USM_IPC_SYCL names .*, where there is no libsycl\.so\.9/)
  t.regex(reason({ USM_IPC_SYCL: '', VIRTUAL_ENV: '', XDG_CACHE_HOME: NOWHERE }), /libsycl\.so\.9.*not found.*pip install intel-sycl-rt.*npm run setup:sycl/)
})

syclTest('the runtime is found by an activated virtual environment, and in the cache', (t) => {
  t.is(reason({ USM_IPC_SYCL: '', XDG_CACHE_HOME: NOWHERE, VIRTUAL_ENV: SYCL }), '')
  inFolder((folder) => {
    execFileSync('mkdir', [join(folder, 'usm-ipc')])
    symlinkSync(SYCL, join(folder, 'usm-ipc/intel-sycl-rt-2026.2.0'))
    t.is(reason({ USM_IPC_SYCL: '', XDG_CACHE_HOME: folder }), '')
  })
})

syclTest('a Level Zero loader that would crash the runtime', (t) => inFolder((folder) => {
  execFileSync('gcc', ['-shared', '-fPIC', '-Wl,-soname,libze_loader.so.1', '-o', join(folder, 'libze_loader.so.1'), join(ROOT, 'test/sycl/old_loader.c')])
  t.regex(reason({ USM_IPC_SOFTWARE_DRIVER: '', ZEL_LIBRARY_PATH: folder }), /libze_loader\.so\.1.*too old.*1\.20/)
}))

syclTest('the library is not built beside the addon', (t) => inFolder((folder) => {
  copyFileSync(join(ADDON_FOLDER, 'usm_ipc.node'), join(folder, 'usm_ipc.node'))
  symlinkSync(DRIVER_FOLDER, join(folder, 'software-driver'))
  t.regex(reason({ USM_IPC_ADDON: join(folder, 'usm_ipc.node') }), /libusm_ipc_sycl\.so is not built.*npm run build:sycl/)
}))

syclTest('no device', (t) => {
  t.regex(reason({ USM_IPC_ZE_FAULT: 'zeDeviceGet:*:0x70000001' }), /finds no device of the software driver/)
  t.regex(reason({ USM_IPC_ZE_FAULT: 'zeDeviceGetRootDevice:*:0x70000001' }), /sycl::\S+ failed: UR_RESULT_ERROR_DEVICE_LOST/)
})
