// The doctor on this machine, and on it made worse: with loaders that crash, in a sandbox, without the addon.
import test from 'ava'
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CHECKS, type Check, type CheckId } from '../../host/doctor/check.ts'
import type { Report } from '../../host/doctor/report.ts'
import { softwareDriver } from '../../host/cli/software_driver.ts'
import { SHOWN } from '../../host/doctor/variables.ts'
import { emit } from '../doctor/emitted.ts'
import type { Exit } from '../support/child.ts'

const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

const main = emit(folder)
const source = (name: string): string => fileURLToPath(new URL(`../doctor/${name}`, import.meta.url))

function compile(output: string, ...args: string[]): string {
  const path = join(folder, output)
  mkdirSync(join(path, '..'), { recursive: true })
  const { status, stderr } = spawnSync('gcc', ['-Wall', '-Werror', '-o', path, ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return path
}

const { folder: software, loader } = softwareDriver()
const addon = process.env['USM_IPC_ADDON'] ?? join(software, '../usm_ipc.node')
const badLoader = join(compile('bad/libze_loader.so.1', '-shared', '-fPIC', source('bad_loader.c'), '-Wl,--no-as-needed', loader, `-Wl,-rpath,${software}`), '..')
const oldLoader = join(compile('old/libze_loader.so.1', '-shared', '-fPIC', '-DOLD', source('bad_loader.c')), '..')
const sandbox = compile('sandbox', source('sandbox.c'))

const DEADLINE = 150_000
const AT_ONCE = 2
let [running, waiting] = [0, [] as (() => void)[]]

/** A few at a time: each is several processes itself. */
async function start(command: readonly string[], env: Record<string, string> = {}): Promise<Exit> {
  if (running >= AT_ONCE) await new Promise<void>((go) => void waiting.push(go))
  else running++
  try {
    return await run(command, { ...process.env, USM_IPC_ADDON: addon, ...env })
  } finally {
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }
}

function run(command: readonly string[], env: NodeJS.ProcessEnv): Promise<Exit> {
  const child = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'], env, timeout: DEADLINE, killSignal: 'SIGKILL' })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
}

const cli = (args: string[], { env = {} }: { env?: Record<string, string> } = {}): Promise<Exit> => start([process.execPath, main, ...args], env)

interface Run {
  exit: Exit
  report: Report
  check(id: CheckId): Check
}

function read(exit: Run['exit']): Run {
  const report = JSON.parse(exit.stdout) as Report
  return { exit, report, check: (id) => report.checks.find((c) => c.id === id)! }
}

async function doctor(args: string[] = [], env: Record<string, string> = {}): Promise<Run> {
  return read(await cli(['doctor', '--json', ...args], { env }))
}

/** Inside of another program. */
async function inside(command: string[], args: string[] = []): Promise<Run> {
  return read(await start([...command, process.execPath, main, 'doctor', '--json', ...args]))
}

test('the report is whole, and the exit code is its outcome', async (t) => {
  const { exit, report, check } = await doctor()
  t.is(exit.code, 0, exit.stderr)
  t.is(exit.stderr, '')
  t.like(report, { schema: 'usm-ipc-doctor', schemaVersion: 1, software: false, ok: true })
  t.deepEqual(Object.keys(report).sort(), ['checks', 'ok', 'schema', 'schemaVersion', 'sharing', 'software', 'summary', 'version'])
  t.deepEqual(report.checks.map((c) => c.id), Object.keys(CHECKS))
  for (const c of report.checks) {
    t.deepEqual([c.group, c.title], [...CHECKS[c.id]])
    t.true(['ok', 'warning', 'failed', 'unknown', 'absent'].includes(c.status))
    t.true(typeof c.detail === 'string' && c.detail !== '', c.id)
    if (c.status === 'failed' || c.status === 'warning') t.truthy(c.fix, `${c.id}: ${c.detail}`)
  }
  t.is(Object.values(report.summary).reduce((a, b) => a + b), report.checks.length)
  t.true(report.sharing.includes('host'))
  t.like(check('round-trip-host'), { status: 'ok', data: { read: true, written: true, left: 0, layout: 'host', path: 'mapped' } })
  for (const id of ['package', 'addon', 'platform', 'runtime', 'memfd', 'memfd-seals', 'scm-rights', 'pidfd-open'] as const) t.is(check(id).status, 'ok', id)
})

test('for people: groups, one finding a line, a summary, no colour in a pipe', async (t) => {
  const { code, stdout, stderr } = await cli(['doctor'], { env: { TERM: 'xterm-256color' } })
  t.is(code, 0, stderr)
  t.is(stderr, '')
  t.is(stdout.match(/^ {2}(ok|warning|failed|unknown|absent) /gm)!.length, Object.keys(CHECKS).length)
  t.regex(stdout, /\nmemory can be shared through: host.*\n$/)
  t.false(stdout.includes('\u001b'))
})

test('--software: every backend over it shares, on both adapters', async (t) => {
  const { exit, report, check } = await doctor(['--software'])
  t.is(exit.code, 0, exit.stderr)
  t.true(report.software)
  t.deepEqual(report.sharing, ['host', 'level_zero', 'sycl', 'sycl-v1', 'sycl-v2'], JSON.stringify(report.checks.filter((c) => c.group.includes('sharing')), undefined, 1))
  const trips = { 'round-trip-level-zero': 'level-zero-opaque', 'round-trip-sycl-v1': 'sycl-umf-level-zero-v1', 'round-trip-sycl-v2': 'sycl-umf-level-zero-v2' }
  for (const [id, layout] of Object.entries(trips)) t.like(check(id as CheckId), { status: 'ok', data: { layout, software: true, read: true, written: true, left: 0 } })
  t.like(check('level-zero-devices').data, { devices: [{ software: true, type: 'gpu' }] })
  t.is(check('level-zero-loader').status, 'ok')
  t.is(check('sycl-runtime').data!['version'], '9.0.0')
  t.true(check('sycl-adapter-choice').detail.startsWith('v2'))
})

test('the variables that choose are followed', async (t) => {
  const env = { SYCL_UR_USE_LEVEL_ZERO_V2: '0', USM_IPC_ZE_HANDLES: 'classic', USM_IPC_ZE_DEVICES: '2', USM_IPC_SOFTWARE_DRIVER: '1' }
  const { report, check } = await doctor([], env)
  t.true(report.software)
  t.like(check('round-trip-sycl'), { status: 'ok', data: { layout: 'sycl-umf-level-zero-v1' } })
  t.like(check('round-trip-level-zero'), { status: 'ok', data: { layout: 'level-zero-classic' } })
  t.is((check('level-zero-devices').data!['devices'] as { uuid: string }[]).length, 2)
  t.true(check('sycl-adapter-choice').detail.startsWith('v1'))
  t.like(check('variables').data, { values: env })
})

test('a driver that crashes, aborts, exits or fails is a finding, and the rest is examined', async (t) => {
  const cases: [string, RegExp][] = [
    ['crash', /SIGSEGV in zeInitDrivers/], ['abort', /SIGABRT in zeInitDrivers; it printed: .*a driver's last words, on stdout/],
    ['exit', /exit code 0 in zeInitDrivers/], ['lost', /ZE_RESULT_ERROR_DEVICE_LOST/],
  ]
  await Promise.all(cases.map(async ([fault, says]) => {
    const { exit, report, check } = await doctor([], { ZEL_LIBRARY_PATH: badLoader, ZE_TEST_FAULT: fault, USM_IPC_SOFTWARE_DRIVER: '0' })
    t.is(exit.code, 0, exit.stderr)
    t.is(check('level-zero-drivers').status, 'failed', fault)
    t.regex(check('level-zero-drivers').detail, says)
    t.truthy(check('level-zero-drivers').fix)
    t.deepEqual(report.sharing, ['host'], fault)
    for (const id of ['backend-level-zero', 'backend-sycl'] as const) t.true(['failed', 'absent'].includes(check(id).status), id)
    if (fault === 'crash') t.regex(check('backend-level-zero').detail, /SIGSEGV in loading the backend/)
  }))
})

test('a driver that hangs ends with its deadline', async (t) => {
  const { check } = await doctor(['--timeout', '10'], { ZEL_LIBRARY_PATH: badLoader, ZE_TEST_FAULT: 'hang' })
  t.is(check('level-zero-drivers').status, 'failed')
  t.regex(check('level-zero-drivers').detail, /no answer within 10 s in zeInitDrivers/)
  t.regex(check('backend-level-zero').detail, /no answer within 10 s in loading the backend/)
})

test('an old loader is named, and the SYCL runtime is not let near it', async (t) => {
  const { exit, report, check } = await doctor([], { ZEL_LIBRARY_PATH: oldLoader })
  t.is(exit.code, 0, exit.stderr)
  t.regex(check('level-zero-loader').detail, /too old, without zeInitDrivers/)
  t.regex(check('level-zero-loader').fix!, /1\.20/)
  t.is(check('backend-sycl').status, 'absent', 'not a crash')
  t.regex(check('backend-sycl').detail, /too old for the SYCL runtime/)
  t.deepEqual(report.sharing, ['host'])
})

test("a sandbox like Docker's: pidfd_getfd is refused, and sharing goes on", async (t) => {
  const { exit, report, check } = await inside(['env', 'USM_IPC_ZE_HANDLES=opaque', sandbox], ['--software'])
  t.is(exit.code, 0, exit.stderr)
  for (const id of ['pidfd-getfd', 'pidfd-getfd-self', 'seccomp'] as const) {
    t.is(check(id).status, 'warning', id)
    t.regex(check(id).fix!, /--cap-add=SYS_PTRACE/)
  }
  t.is(check('capabilities').status, 'absent')
  t.like(check('seccomp').data, { mode: 2 })
  t.is(check('pidfd-open').status, 'ok')
  // A driver of the opaque form asks for the descriptor by pidfd, of its own process even.
  t.deepEqual(report.sharing, ['host'])
  t.like(check('round-trip-level-zero'), { status: 'failed' })
  t.regex(check('round-trip-level-zero').fix!, /pidfd_getfd.*permissions/)
  t.regex(check('round-trip-sycl').fix!, /pidfd_getfd.*permissions/)
})

test('in that sandbox a driver of the classic form shares all the same', async (t) => {
  const { report } = await inside(['env', 'USM_IPC_ZE_HANDLES=classic', sandbox], ['--software'])
  t.deepEqual(report.sharing, ['host', 'level_zero', 'sycl', 'sycl-v1', 'sycl-v2'])
})

test('without CAP_SYS_PTRACE a non-dumpable process is closed, as it should be', async (t) => {
  const { check } = await inside([sandbox, '--no-filter'])
  t.is(check('capabilities').status, 'absent')
  t.is(check('pidfd-getfd').status, 'ok')
  t.like(check('pidfd-getfd-non-dumpable'), { status: 'ok', data: { nonDumpable: 'EPERM' } })
})

test('a user namespace in which nobody is mapped', async (t) => {
  const { report, check } = await inside(['unshare', '--user'])
  t.is(check('user-namespace').status, 'failed')
  t.like(check('user-namespace').data, { uidMapped: false, first: false })
  t.deepEqual(report.checks.map((c) => c.id), Object.keys(CHECKS))
})

test('a pid namespace of its own', async (t) => {
  const [outer, own] = await Promise.all([
    inside(['unshare', '--user', '--map-root-user', '--pid', '--fork']),
    inside(['unshare', '--user', '--map-root-user', '--pid', '--fork', '--mount-proc']),
  ])
  t.is(outer.check('pid-namespace').status, 'warning', 'with the /proc of the outer one')
  t.like(own.check('pid-namespace'), { status: 'ok', data: { first: false } })
  t.is(own.check('round-trip-host').status, 'ok')
})

test('what a variable does to the software driver is said where it shows, and nothing else is advised', async (t) => {
  const cases: [Record<string, string>, CheckId, string, string, string[]][] = [
    [{ USM_IPC_ZE_HANDLES: 'bad' }, 'level-zero-drivers', 'USM_IPC_ZE_HANDLES=bad: it takes classic, opaque or opaque-mirror', 'correct or unset USM_IPC_ZE_HANDLES', ['host']],
    [{ ZE_AFFINITY_MASK: '9' }, 'level-zero-drivers', 'ZE_AFFINITY_MASK=9 leaves no device', 'correct or unset ZE_AFFINITY_MASK', ['host']],
    [
      { ONEAPI_DEVICE_SELECTOR: 'opencl:cpu', SYCL_UR_USE_LEVEL_ZERO_V2: '2' }, 'backend-sycl', 'ONEAPI_DEVICE_SELECTOR=opencl:cpu excludes Level Zero',
      'unset ONEAPI_DEVICE_SELECTOR, or set it to level_zero:*', ['host', 'level_zero'],
    ],
    [
      { ONEAPI_DEVICE_SELECTOR: 'level_zero:5' }, 'backend-sycl', 'ONEAPI_DEVICE_SELECTOR=level_zero:5 leaves no Level Zero device',
      'unset ONEAPI_DEVICE_SELECTOR, or set it to level_zero:*', ['host', 'level_zero'],
    ],
  ]
  await Promise.all(cases.map(async ([env, id, detail, fix, sharing]) => {
    const { report, check } = await doctor(['--software'], env)
    t.deepEqual(report.sharing, sharing)
    t.is(check(id).status, 'failed', id)
    t.true(check(id).detail.endsWith(detail), check(id).detail)
    t.like(check('backend-sycl'), { detail, fix })
    if (!sharing.includes('level_zero')) t.like(check('backend-level-zero'), { detail, fix })
    for (const c of report.checks) {
      if (c.group === 'GPU') continue
      t.notRegex(`${c.detail} ${c.fix ?? ''}`, /--software|USM_IPC_SOFTWARE_DRIVER=1 brings|intel-level-zero-gpu|\/dev\/dri/, c.id)
    }
    if (env['SYCL_UR_USE_LEVEL_ZERO_V2'] !== undefined) t.regex(check('variables').fix!, /SYCL_UR_USE_LEVEL_ZERO_V2 is 0 or 1; ONEAPI_DEVICE_SELECTOR hides Level Zero/)
  }))
})

test('a value that asks for the software driver in other words than 1', async (t) => {
  const { check } = await doctor([], { USM_IPC_SOFTWARE_DRIVER: 'yes' })
  t.like(check('variables'), { status: 'warning', fix: 'USM_IPC_SOFTWARE_DRIVER takes 1 (or 0), not yes' })
  for (const id of ['backend-level-zero', 'backend-sycl'] as const) {
    t.like(check(id), { detail: 'USM_IPC_SOFTWARE_DRIVER takes 1 (or 0), not yes', fix: 'set USM_IPC_SOFTWARE_DRIVER to 1 for the software driver, or unset it' })
  }
})

test("the SYCL library that was not built is something to mend, by the detail's own command", async (t) => {
  const without = join(folder, 'without-sycl')
  mkdirSync(without)
  cpSync(addon, join(without, 'usm_ipc.node'))
  cpSync(software, join(without, 'software-driver'), { recursive: true })
  const env = { USM_IPC_ADDON: join(without, 'usm_ipc.node') }
  const { report, check } = await doctor(['--software'], env)
  t.is(check('backend-sycl').status, 'failed')
  t.is(check('backend-sycl').detail, 'libusm_ipc_sycl.so is not built: run `npm run setup:sycl && npm run build:sycl` in a checkout of usm-ipc')
  t.is(check('backend-sycl').fix, 'npm run setup:sycl && npm run build:sycl, in a clone of usm-ipc')
  t.deepEqual(report.sharing, ['host', 'level_zero'])
  t.regex((await cli(['doctor', '--software'], { env })).stdout, /; 1 failed\n$/)
})

test('few open files', async (t) => {
  const { check } = await inside(['sh', '-c', 'ulimit -n 300; exec "$@"', 'sh'])
  t.like(check('open-files'), { status: 'warning', data: { soft: 300 } })
})

test('without the addon: the report is whole, the exit code 1', async (t) => {
  const { exit, report, check } = await doctor([], { USM_IPC_ADDON: join(folder, 'missing.node') })
  t.is(exit.code, 1)
  t.is(exit.stderr, '')
  t.like(report, { ok: false, sharing: [] })
  t.is(check('addon').status, 'failed')
  t.regex(check('addon').fix!, /npm ci/)
  t.deepEqual(report.checks.map((c) => c.id), Object.keys(CHECKS))
  t.is((await cli(['doctor'], { env: { USM_IPC_ADDON: join(folder, 'missing.node') } })).code, 1)
})

test('a report says no value of a variable that is not on the list, and no home folder', async (t) => {
  const names = [
    'AWS_SECRET_ACCESS_KEY', 'GITHUB_TOKEN', 'DATABASE_URL', 'SYCL_PRIVATE', 'UR_PRIVATE', 'ZE_PRIVATE', 'USM_IPC_PRIVATE', 'NEO_PRIVATE', 'KUBERNETES_SERVICE_HOST',
    'SSH_AUTH_SOCK', 'HOSTNAME', 'USER', 'LOGNAME', 'MAIL',
  ]
  for (const name of names) t.false(SHOWN.includes(name), name)
  const secrets = Object.fromEntries(names.map((name, i) => [name, `secret-${i}-${'x'.repeat(12)}`]))
  const home = join(folder, 'home-of-secret-alice')
  const env = { ...secrets, HOME: home, USM_IPC_SYCL: join(home, 'runtime'), container: 'secret-manager/1', UMF_LOG: 'level:debug' }
  for (const args of [['--json'], []]) {
    const { stdout, stderr } = await cli(['doctor', ...args], { env })
    t.false((stdout + stderr).includes('secret-'), stdout)
    t.true(stdout.includes('~/runtime'))
    t.true(stdout.includes('SYCL_PRIVATE'), 'its name is no secret')
    t.true(stdout.includes('level:debug'))
  }
  const { exit, check } = await doctor([], { ZEL_LIBRARY_PATH: badLoader, ZE_TEST_FAULT: 'abort', USM_IPC_SOFTWARE_DRIVER: '0', ZE_TEST_SECRET: ', secret-printed' })
  t.false(exit.stdout.includes('secret-printed'), 'nor what a driver prints of it')
  t.regex(check('level-zero-drivers').detail, /last words, on stdout\$ZE_TEST_SECRET/)
})

test('wrong usage', async (t) => {
  const wrong = await Promise.all([['--nonsense'], ['extra'], ['--timeout', '0'], ['--timeout', 'soon'], ['--timeout']].map((args) => cli(['doctor', ...args])))
  for (const { code, stdout, stderr } of wrong) {
    t.is(code, 2, stderr)
    t.is(stdout, '')
  }
  const help = await cli(['doctor', '--help'])
  t.is(help.code, 0)
  t.regex(help.stdout, /--software[^]*--json[^]*Exit code: 0/)
  t.notRegex((await cli(['--help'])).stdout, /doctor-task/)
})
