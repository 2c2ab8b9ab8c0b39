import test, { type ExecutionContext } from 'ava'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pattern } from '../contract/support.ts'
import { cli } from './run_cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, bytes: Uint8Array): { path: string; sha256: string } {
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return { path, sha256: createHash('sha256').update(bytes).digest('hex') }
}

interface Result {
  ok: boolean
  nbytes: number
  device: string
  handle: { bytes: number; vendorBytes: number; verdict: string }
  exporter: { pid: number; sha256: string }
  importer: { pid: number; sha256: string; verdict: string; path: string; rssAnonGrowth: number }
  writeSeen: boolean
  books: object
}

function copiesNothing(t: ExecutionContext, { importer }: Result): void {
  // A sanitizer's shadow of what is read is anonymous memory of its own.
  const most = process.env['USM_IPC_SANITIZED'] === undefined ? 8e6 : 64e6 / 2
  t.true(importer.rssAnonGrowth < most, `anonymous memory grew by ${importer.rssAnonGrowth}`)
}

test('the demo shares a file with a second process, without a copy, and closes its books', async (t) => {
  const { path, sha256 } = file('3MB', pattern(3_000_001))
  const shm = readdirSync('/dev/shm')
  const { code, stdout, stderr } = await cli(['demo', '--json', '--device', 'host', path])
  t.is(code, 0, stderr)
  t.is(stderr, '')
  const result = JSON.parse(stdout) as Result
  t.like(result, {
    ok: true, nbytes: 3_000_001, device: 'host:0', writeSeen: true,
    books: { exporter: { ledger: 0, registry: 0 }, importer: { ledger: 0, registry: 0 } },
  })
  t.is(result.exporter.sha256, sha256)
  t.is(result.importer.sha256, sha256)
  t.not(result.importer.pid, result.exporter.pid)
  t.like(result.importer, { verdict: 'ok', path: 'mapped' })
  t.like(result.handle, { vendorBytes: 32, verdict: 'ok' })
  copiesNothing(t, result)
  t.deepEqual(readdirSync('/dev/shm'), shm)
})

test('the demo copies nothing: 64 MB do not become anonymous memory of the importer', async (t) => {
  const { path } = file('64MB', new Uint8Array(64_000_000).fill(1))
  const { code, stdout, stderr } = await cli(['demo', '--json', '--device', 'host', path])
  t.is(code, 0, stderr)
  copiesNothing(t, JSON.parse(stdout) as Result)
})

test('the demo tells people what it does, with a file of its own where none is named', async (t) => {
  const { code, stdout, stderr } = await cli(['demo', '--device', 'host'])
  t.is(code, 0, stderr)
  t.regex(stdout, /exporter \d+: .*\n/)
  t.regex(stdout, /importer \d+: verdict ok, opened in .* \(mapped\)/)
  t.regex(stdout, /books: exporter ledger 0, registry 0; importer ledger 0, registry 0\n/)
})

test('one byte is enough for a demo', async (t) => {
  const { path, sha256 } = file('one', Uint8Array.of(7))
  const { code, stdout, stderr } = await cli(['demo', '--json', '--device', 'host', path])
  t.is(code, 0, stderr)
  t.like(JSON.parse(stdout), { ok: true, nbytes: 1, importer: { sha256 } })
})

test('files that cannot be shared and devices that are not there are said by name', async (t) => {
  const { path } = file('empty', new Uint8Array(0))
  const cases: [string[], number, RegExp][] = [
    [[path], 2, /is empty: there is nothing to share/],
    [[join(folder, 'missing')], 2, /cannot read .*missing: ENOENT/],
    [[folder], 2, /is not a file/],
    [['/dev/zero'], 2, /is not a file/],
    [['--device', 'nonsense'], 2, /'nonsense' is not a device selector: use backend/],
    [['--device', 'gpu'], 2, /'\*:gpu' is a gpu of any/],
    [['--device', 'host:7'], 1, /no device matches 'host:7'.*ERR_USM_IPC_NO_SUCH_DEVICE/],
    [['--device', 'cuda:999999'], 1, /ERR_USM_IPC_(BACKEND_UNAVAILABLE|NO_SUCH_DEVICE)/],
  ]
  for (const [args, expected, says] of cases) {
    const { code, stdout, stderr } = await cli(['demo', '--json', ...args])
    t.is(code, expected, stderr)
    t.is(stdout, '')
    t.regex(stderr, says)
    t.notRegex(stderr, /\n {4}at /, 'no stack for what a user can mend')
  }
})

test('the importer by itself, without a channel, says so and hangs for nothing', async (t) => {
  const { code, stderr } = await cli(['demo-importer'])
  t.is(code, 1)
  t.regex(stderr, /ERR_USM_IPC_/)
})

interface Everywhere {
  ok: boolean
  runs: (Result & { device: string })[]
  absent: { backend: string; reason: string }[]
}

test('without a device the demo runs on every backend here, the software Level Zero device among them, and says what is absent', async (t) => {
  const { path, sha256 } = file('everywhere', pattern(100_001))
  const { code, stdout, stderr } = await cli(['demo', '--json', path])
  t.is(code, 0, stderr)
  const { ok, runs, absent } = JSON.parse(stdout) as Everywhere
  t.true(ok)
  const devices = runs.map((run) => run.device)
  for (const device of ['host:0', 'level_zero:0', 'sycl:0']) t.true(devices.includes(device), `${device} of ${devices.join(', ')}`)
  for (const run of runs) {
    t.like(run, { ok: true, writeSeen: true, books: { exporter: { ledger: 0, registry: 0 }, importer: { ledger: 0, registry: 0 } } })
    t.is(run.importer.sha256, sha256)
  }
  for (const { backend, reason } of absent) {
    t.false(devices.includes(`${backend}:0`))
    t.true(reason.length > 10, backend)
  }
  const people = await cli(['demo', path])
  t.is(people.code, 0, people.stderr)
  t.regex(people.stdout, /level_zero \(software\)\n/)
  t.regex(people.stdout, /(\d) of \1 backends: digests equal, books empty\n/)
  for (const { backend, reason } of absent) t.true(people.stdout.includes(`${backend}: ${reason}`))
})

for (const [selector, bytes] of [['level_zero:gpu', 64], ['sycl:gpu', 120], ['sycl', 120]] as const) {
  test(`the demo on ${selector}: a device that is not here is the software driver's, and said to be`, async (t) => {
    const { path, sha256 } = file(selector.replace(':', '-'), pattern(70_000))
    const env = { SYCL_UR_USE_LEVEL_ZERO_V2: '1' }
    const { code, stdout, stderr } = await cli(['demo', '--json', '--device', selector, path], { env })
    t.is(code, 0, stderr)
    const result = JSON.parse(stdout) as Result
    t.like(result, { ok: true, writeSeen: true, handle: { vendorBytes: bytes } })
    t.is(result.importer.sha256, sha256)
    copiesNothing(t, result)
    t.regex((await cli(['demo', '--device', selector, path], { env })).stdout, /cannot be used here|no device matches|on (sycl|level_zero):0/)
  })
}
