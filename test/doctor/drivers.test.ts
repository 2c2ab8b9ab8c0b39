// Machines on which the GPU, its driver or the runtimes over it are missing, old or broken.
import test from 'ava'
import { DRIVER, LEVEL_ZERO, LIBRARIES, LOADER, MISSING, NO_GPU, SYCL, examined, finding, gpuFile, says, type Machine } from './machine.ts'

const levelZero = (answers: Partial<typeof LEVEL_ZERO>, more: object = {}): Partial<Machine> => ({ levelZero: { answers, ...more } })
const sycl = (answer: Partial<typeof LIBRARIES.sycl>): Partial<Machine> => ({ libraries: { answers: { ...LIBRARIES, sycl: { ...LIBRARIES.sycl, ...answer } } } })
const noFiles = (paths: string[]): Record<string, undefined> => Object.fromEntries(paths.map((path) => [path, undefined]))

test('on a good machine all of it is found', (t) => {
  for (const id of ['gpu-hardware', 'dri', 'gpu-groups', 'level-zero-loader', 'level-zero-drivers', 'level-zero-devices', 'sycl-runtime', 'sycl-adapters', 'sycl-adapter-choice'] as const) {
    const { status, fix, detail } = finding({}, id)
    t.is(status, 'ok', `${id}: ${detail}`)
    t.is(fix, undefined, id)
  }
  t.regex(finding({}, 'gpu-hardware').detail, /Intel 0xe20b \(xe\)/)
  t.like(finding({}, 'level-zero-loader').data, { version: '1.24.2', path: '/usr/lib/libze_loader.so.1.24.2' })
  t.regex(finding({}, 'level-zero-drivers').detail, /version 1\.3\.29735, API 1\.13/)
  t.regex(finding({}, 'level-zero-devices').detail, /Arc.*86800be2-0000-0000-0300-000000000000/)
  t.like(finding({}, 'sycl-runtime').data, { version: '9.0.0', release: '2026.2' })
  t.regex(finding({}, 'sycl-adapter-choice').detail, /^v2: /)
  t.is(finding({}, 'cuda-library').status, 'absent')
})

test('an old loader', (t) => {
  const machine = levelZero({ ...LEVEL_ZERO, loader: { path: LOADER, error: '', missing: ['zeInitDrivers', 'zeMemPutIpcHandle'] }, versions: { loader: '1.8.12' }, init: { call: 'zeInit', result: '' } })
  const { status, detail, fix } = finding(machine, 'level-zero-loader')
  t.is(status, 'failed')
  t.regex(detail, /1\.8\.12.*too old.*zeInitDrivers/)
  t.regex(fix!, /1\.20 or newer.*github\.com\/oneapi-src\/level-zero/)
})

test("the loader's file name tells its version where it does not itself", (t) => {
  t.regex(finding(levelZero({ ...LEVEL_ZERO, versions: {} }), 'level-zero-loader').detail, /^1\.24\.2, /)
})

test('no loader: a fault with an Intel GPU, none without', (t) => {
  const machine = levelZero({ loader: MISSING })
  t.is(finding(machine, 'level-zero-loader').status, 'failed')
  t.is(finding({ ...machine, ...NO_GPU }, 'level-zero-loader').status, 'absent')
  t.regex(finding(machine, 'level-zero-loader').fix!, /libze1.*--software/)
  t.is(finding(machine, 'level-zero-drivers').status, 'absent')
  t.is(finding(machine, 'level-zero-devices').status, 'absent')
  const damaged = levelZero({ loader: { ...MISSING, error: 'libze_loader.so.1: file too short' } })
  says(t, finding({ ...damaged, ...NO_GPU }, 'level-zero-loader'), { status: 'failed', detail: /cannot be loaded: .*file too short/ })
  t.regex(finding({ ...machine, software: true }, 'level-zero-loader').fix!, /build:addon/)
})

test('a driver that crashes or hangs at its start', (t) => {
  const asked = { loader: LEVEL_ZERO.loader }
  const crash = finding(levelZero(asked, { end: 'crashed', step: 'zeInitDrivers', problem: 'SIGSEGV', output: 'first\nAbort was called at 42 line' }), 'level-zero-drivers')
  t.is(crash.status, 'failed')
  t.regex(crash.detail, /SIGSEGV in zeInitDrivers; it printed: first \| Abort was called/)
  t.regex(crash.fix!, /update the GPU driver.*report/)
  const hang = finding(levelZero(asked, { end: 'silent', step: 'zeInitDrivers', problem: '40 s' }), 'level-zero-drivers')
  t.is(hang.status, 'failed')
  t.regex(hang.detail, /no answer within 40 s in zeInitDrivers/)
  const late = finding(levelZero({ ...asked, init: LEVEL_ZERO.init }, { end: 'crashed', step: 'asking the drivers', problem: 'SIGABRT' }), 'level-zero-drivers')
  t.regex(late.detail, /SIGABRT in asking the drivers/)
  const loading = finding(levelZero({}, { end: 'crashed', step: 'loading the loader', problem: 'SIGILL' }), 'level-zero-loader')
  says(t, loading, { status: 'failed', detail: /SIGILL/, fix: /1\.20/ })
})

test('a loader that finds no driver', (t) => {
  const machine = levelZero({ loader: LEVEL_ZERO.loader, init: { call: 'zeInitDrivers', result: 'ZE_RESULT_ERROR_UNINITIALIZED' }, versions: {} })
  t.is(finding(machine, 'level-zero-drivers').status, 'failed')
  t.is(finding({ ...machine, ...NO_GPU }, 'level-zero-drivers').status, 'absent')
  t.regex(finding(machine, 'level-zero-drivers').fix!, /compute runtime.*\/dev\/dri.*--software/)
  const lost = levelZero({ ...machine.levelZero!.answers, init: { call: 'zeInitDrivers', result: 'ZE_RESULT_ERROR_DEVICE_LOST' } })
  says(t, finding(lost, 'level-zero-drivers'), { status: 'failed', detail: /DEVICE_LOST/ })
  t.is(finding(levelZero({ ...LEVEL_ZERO, drivers: [] }), 'level-zero-drivers').status, 'failed')
})

test('a driver without devices', (t) => {
  const machine = levelZero({ ...LEVEL_ZERO, drivers: [{ ...DRIVER, devices: [] }] })
  says(t, finding(machine, 'level-zero-devices'), { status: 'failed', detail: 'the driver has no device', fix: /^see \/dev\/dri and its groups above$/ })
  const masked = finding({ ...machine, variables: { ZE_AFFINITY_MASK: '3' } }, 'level-zero-devices')
  says(t, masked, { status: 'failed', detail: 'the driver has no device: ZE_AFFINITY_MASK=3 may hide them', fix: /^correct or unset ZE_AFFINITY_MASK$/ })
  says(t, finding({ ...machine, software: true }, 'level-zero-devices'), { status: 'failed', fix: /^please send us this report$/ })
})

test('the software driver says that it is', (t) => {
  const machine = levelZero({ ...LEVEL_ZERO, drivers: [{ ...DRIVER, software: true }] })
  t.regex(finding(machine, 'level-zero-drivers').detail, /software/)
  t.like(finding(machine, 'level-zero-devices').data, { devices: [{ software: true }] })
})

const shut = { '/dev/dri/renderD128': { mode: 0o660, gid: 109, usable: false } }

test('a user who is not in the group render', (t) => {
  const machine: Partial<Machine> = { nodes: shut, system: { groups: [1000] } }
  for (const id of ['dri', 'gpu-groups'] as const) {
    const { status, fix } = finding(machine, id)
    t.is(status, 'failed', id)
    t.regex(fix!, /usermod -aG render "\$USER".*log in again/)
  }
  t.regex(finding(machine, 'dri').detail, /renderD128 0660 root:render, not for this user/)
})

test('a container that has no group render', (t) => {
  const machine: Partial<Machine> = { nodes: shut, system: { groups: [1000] }, files: { '/etc/group': 'root:x:0:\n' } }
  t.regex(finding(machine, 'dri').fix!, /docker run --group-add 109/)
  t.regex(finding(machine, 'dri').detail, /root:109/)
  t.is(finding(machine, 'gpu-groups').status, 'failed')
})

test('a device file with another mode', (t) => {
  t.regex(finding({ nodes: { '/dev/dri/renderD128': { mode: 0o600, gid: 109, usable: false } } }, 'dri').fix!, /chmod 660/)
})

test('one of two GPUs is shut', (t) => {
  t.is(finding({ nodes: { ...shut, '/dev/dri/renderD129': { mode: 0o666, gid: 109, usable: true } } }, 'dri').status, 'warning')
})

test('an Intel GPU without /dev/dri, as in a container', (t) => {
  const { status, fix } = finding({ nodes: {} }, 'dri')
  t.is(status, 'failed')
  t.regex(fix!, /--device \/dev\/dri.*modprobe/)
  t.is(finding({ nodes: {}, ...NO_GPU }, 'dri').status, 'absent')
  t.is(finding({ nodes: {}, files: { '/dev/dxg': '' } }, 'dri').status, 'ok', 'WSL')
  t.is(finding({ nodes: { '/dev/dri/card0': { mode: 0o660, gid: 44, usable: true } } }, 'dri').status, 'warning', 'no render node')
})

test('a GPU that no kernel driver has taken', (t) => {
  const { status, detail, fix } = finding({ links: { [gpuFile('driver')]: undefined } }, 'gpu-hardware')
  t.is(status, 'failed')
  t.regex(detail, /no kernel driver/)
  t.regex(fix!, /xe or i915.*0xe20b/)
  t.is(finding(NO_GPU, 'gpu-hardware').status, 'absent')
})

test('an NVIDIA GPU without its library, and with it', (t) => {
  const nvidia = { files: { [gpuFile('vendor')]: '0x10de\n' } }
  const missing = finding(nvidia, 'cuda-library')
  t.is(missing.status, 'failed')
  t.regex(missing.fix!, /--gpus all/)
  const path = '/usr/lib/libcuda.so.1'
  const found: Partial<Machine> = { ...nvidia, links: { [path]: '/usr/lib/libcuda.so.580.65.06' }, libraries: { answers: { ...LIBRARIES, cuda: { path, error: '', missing: [] } } } }
  t.regex(finding(found, 'cuda-library').detail, /driver 580\.65\.06/)
  found.libraries!.answers!.cuda!.missing = ['cuIpcGetMemHandle']
  t.regex(finding(found, 'cuda-library').fix!, /stub/)
})

test('no SYCL runtime: every place that was looked at is named', (t) => {
  const machine: Partial<Machine> = {
    ...sycl({ path: '', error: 'libsycl.so.9: cannot open shared object file: No such file or directory' }),
    files: noFiles([`${SYCL}/libsycl.so.9`, `${SYCL}/libsycl.so.9.0.0`]),
    variables: { VIRTUAL_ENV: '/venv', USM_IPC_SYCL: '/runtime', CMPLR_ROOT: '/cmplr', ONEAPI_ROOT: '/oneapi', XDG_CACHE_HOME: '/cache' },
  }
  const { status, detail, fix } = finding(machine, 'sycl-runtime')
  t.is(status, 'absent')
  t.regex(fix!, /pip install intel-sycl-rt==2026\.2\.0.*USM_IPC_SYCL.*setup:sycl/)
  for (const place of ['$USM_IPC_SYCL/lib', '$USM_IPC_SYCL', '$VIRTUAL_ENV/lib', '$XDG_CACHE_HOME/usm-ipc', '$CMPLR_ROOT/lib', '$ONEAPI_ROOT/compiler/latest/lib', '/opt/intel/oneapi']) t.true(detail.includes(place), place)
  t.is(finding(machine, 'sycl-adapters').status, 'absent')
  t.is(finding(machine, 'sycl-adapter-choice').status, 'absent')
})

test('a SYCL runtime of another release, a broken one, one without ipc::memory', (t) => {
  const other: Partial<Machine> = {
    ...sycl({ path: '', error: 'libsycl.so.9: cannot open shared object file: No such file or directory' }),
    files: { ...noFiles([`${SYCL}/libsycl.so.9`, `${SYCL}/libsycl.so.9.0.0`]), [`${SYCL}/libsycl.so.8`]: '' },
  }
  says(t, finding(other, 'sycl-runtime'), { status: 'failed', detail: /libsycl\.so\.8 is of another release/, fix: /libsycl\.so\.9.*2026\.2\.0/ })
  says(t, finding(sycl({ path: '', error: 'libimf.so: cannot open shared object file: No such file or directory' }), 'sycl-runtime'), { status: 'failed', detail: /libimf/ })
  says(t, finding(sycl({ missing: ['get'] }), 'sycl-runtime'), { status: 'failed', detail: /without ipc::memory/ })
  const crash: Partial<Machine> = { libraries: { answers: {}, end: 'crashed', step: 'loading libsycl', problem: 'SIGSEGV' } }
  says(t, finding(crash, 'sycl-runtime'), { status: 'failed', detail: /SIGSEGV/ })
})

test('adapters that are missing, and the one that is chosen', (t) => {
  const [v1, v2] = [`${SYCL}/libur_adapter_level_zero.so.0`, `${SYCL}/libur_adapter_level_zero_v2.so.0`]
  says(t, finding({ files: noFiles([v1, v2]) }, 'sycl-adapters'), { status: 'failed', fix: /intel-cmplr-lib-ur/ })
  says(t, finding({ files: noFiles([v2]) }, 'sycl-adapter-choice'), { status: 'failed', fix: /SYCL_UR_USE_LEVEL_ZERO_V2=0/ })
  const chosen = (variables: Record<string, string>, ipVersion: number): unknown =>
    finding({ variables, ...levelZero({ ...LEVEL_ZERO, drivers: [{ ...DRIVER, devices: [{ ...DRIVER.devices[0]!, ipVersion }] }] }) }, 'sycl-adapter-choice').data!['adapter']
  t.is(chosen({}, 0x05004000), 'v2')
  t.is(chosen({}, 0x05003fff), 'v1')
  t.is(chosen({}, 0), 'v1')
  t.is(chosen({ SYCL_UR_USE_LEVEL_ZERO_V2: '0' }, 0x05004000), 'v1')
  t.is(chosen({ SYCL_UR_USE_LEVEL_ZERO_V2: '1' }, 0), 'v2')
  t.is(finding(levelZero({ loader: MISSING }), 'sycl-adapter-choice').status, 'unknown')
})

test('a backend that is absent is a fault where its hardware is there', (t) => {
  const reason = 'there is no Level Zero loader'
  const machine: Partial<Machine> = { backends: { level_zero: { answers: { unavailable: reason } } } }
  says(t, finding(machine, 'backend-level-zero'), { status: 'failed', detail: reason })
  says(t, finding({ ...machine, ...NO_GPU }, 'backend-level-zero'), { status: 'absent', detail: reason, fix: /--software/ })
  t.is(finding(machine, 'round-trip-level-zero').status, 'absent')
  t.is(examined(machine).ok, true)
})

const nowhere: Partial<Machine>['backends'] = { level_zero: { answers: { unavailable: 'no device' } }, sycl: { answers: { unavailable: 'no device' } } }
const initialized = (result: string, output: string): Partial<Machine> =>
  ({ ...levelZero({ loader: LEVEL_ZERO.loader, init: { call: 'zeInitDrivers', result }, versions: {} }, { output }), ...NO_GPU, backends: nowhere })

test("the software driver's own words are the cause, wherever it is in the way", (t) => {
  const output = 'usm-ipc software driver: zeInit: ZE_RESULT_ERROR_INVALID_ARGUMENT (0x78000004)\nusm-ipc software driver: USM_IPC_ZE_LOST: there is no function zeFoo\nmore'
  for (const software of [true, false]) {
    const machine = { ...initialized('ZE_RESULT_ERROR_INVALID_ARGUMENT', output), software }
    const detail = 'USM_IPC_ZE_LOST: there is no function zeFoo'
    says(t, finding(machine, 'level-zero-drivers'), { status: 'failed', detail: `zeInitDrivers says ZE_RESULT_ERROR_INVALID_ARGUMENT: ${detail}`, fix: /^correct or unset USM_IPC_ZE_LOST$/ })
    for (const id of ['backend-level-zero', 'backend-sycl'] as const) says(t, finding(machine, id), { status: 'absent', detail, fix: /^correct or unset USM_IPC_ZE_LOST$/ })
  }
})

test('calls that a variable makes fail', (t) => {
  const variables = { USM_IPC_ZE_FAULT: 'zeInit:*:0x78000001' }
  const machine = { ...initialized('ZE_RESULT_ERROR_UNINITIALIZED', ''), software: true, variables }
  says(t, finding(machine, 'level-zero-drivers'), { status: 'failed', detail: /USM_IPC_ZE_FAULT=zeInit:\*:0x78000001 makes calls fail/, fix: /^unset USM_IPC_ZE_FAULT$/ })
  says(t, finding({ ...machine, variables: {} }, 'level-zero-drivers'), { status: 'failed', fix: /^please send us this report$/ })
  const opening = { answers: { unavailable: '', devices: [] }, end: 'failed' as const, step: 'opening in another process', problem: 'DEVICE_LOST' }
  says(t, finding({ software: true, variables, backends: { level_zero: opening } }, 'round-trip-level-zero'), { status: 'failed', fix: /^unset USM_IPC_ZE_FAULT$/ })
})

test('with the software driver nobody is sent after drivers, or after what was just run', (t) => {
  const crash = { answers: {}, end: 'crashed' as const, step: 'loading the backend', problem: 'SIGSEGV' }
  const machines: Partial<Machine>[] = [
    { backends: nowhere }, { backends: { level_zero: crash, sycl: crash } }, levelZero({ ...LEVEL_ZERO, drivers: [] }), levelZero({ loader: MISSING }),
    levelZero({ loader: LEVEL_ZERO.loader }, { end: 'crashed', step: 'zeInitDrivers', problem: 'SIGSEGV' }), sycl({ path: '', error: 'No such file' }),
  ]
  for (const machine of machines) {
    for (const c of examined({ ...machine, software: true }).checks) {
      if (c.group !== 'GPU') t.notRegex(c.fix ?? '', /--software|driver, the loader|GPU driver|compute runtime|dev\/dri/, `${c.id}: ${c.fix}`)
    }
  }
})

test('a backend has the fix of what is in its way', (t) => {
  const noRuntime = { ...sycl({ path: '', error: 'libsycl.so.9: No such file or directory' }), ...NO_GPU, backends: nowhere, software: true }
  t.is(finding(noRuntime, 'backend-sycl').fix, finding(noRuntime, 'sycl-runtime').fix)
  t.regex(finding(noRuntime, 'backend-sycl').fix!, /npm run setup:sycl && npm run build:sycl/)
  const noDriver = initialized('ZE_RESULT_ERROR_UNINITIALIZED', '')
  for (const id of ['backend-level-zero', 'backend-sycl'] as const) says(t, finding(noDriver, id), { status: 'absent', detail: 'no device', fix: /^no driver accepted/ })
})

test('the SYCL library is not built, or is another one', (t) => {
  const backends = (unavailable: string): Partial<Machine> => ({ ...NO_GPU, backends: { sycl: { answers: { unavailable } } } })
  const [none, old] = ['libusm_ipc_sycl.so is not built: run `npm run setup:sycl && npm run build:sycl` in a checkout', 'it has version 1 of its interface: build it again with `npm run build:sycl`']
  says(t, finding(backends(none), 'backend-sycl'), { status: 'failed', detail: none, fix: /^npm run setup:sycl && npm run build:sycl, in a clone of usm-ipc$/ })
  says(t, finding(backends(old), 'backend-sycl'), { status: 'failed', detail: old, fix: /^npm run build:sycl, in a clone of usm-ipc$/ })
})

test('a selector that leaves SYCL no Level Zero device', (t) => {
  const machine = (selector: string): Partial<Machine> => ({ ...NO_GPU, backends: nowhere, variables: { ONEAPI_DEVICE_SELECTOR: selector } })
  says(t, finding(machine('opencl:cpu'), 'backend-sycl'), { status: 'failed', detail: 'ONEAPI_DEVICE_SELECTOR=opencl:cpu excludes Level Zero', fix: /unset ONEAPI_DEVICE_SELECTOR/ })
  says(t, finding(machine('level_zero:7'), 'backend-sycl'), { status: 'failed', detail: 'ONEAPI_DEVICE_SELECTOR=level_zero:7 leaves no Level Zero device' })
  says(t, finding(machine('hunter2@x'), 'backend-sycl'), { status: 'failed', detail: /\(9 characters, not shown\)/ })
  t.notRegex(finding(machine('opencl:cpu'), 'backend-level-zero').detail, /SELECTOR/)
})

test('a backend that crashes while it is loaded', (t) => {
  const machine: Partial<Machine> = { backends: { sycl: { answers: {}, end: 'crashed', step: 'loading the backend', problem: 'SIGSEGV' } } }
  for (const id of ['backend-sycl', 'round-trip-sycl'] as const) says(t, finding(machine, id), { status: 'failed', detail: /SIGSEGV in loading the backend/, fix: /report/ })
  t.false(examined(machine).sharing.includes('sycl'))
})
