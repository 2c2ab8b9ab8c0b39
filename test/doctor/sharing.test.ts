// What the round trips say, and what makes the whole a success.
import test from 'ava'
import type { RoundTrip } from '../../host/doctor/probe.ts'
import { KERNEL, backend, examined, finding, says, type Machine } from './machine.ts'

const trip = (changes: Partial<RoundTrip>, more: object = {}): Partial<Machine> => {
  const answers = backend('sycl')
  return { backends: { sycl: { answers: { ...answers, roundTrip: { ...answers.roundTrip, ...changes } }, ...more } } }
}

test('where it works', (t) => {
  const report = examined({})
  t.true(report.ok)
  t.deepEqual(report.sharing, ['host', 'level_zero', 'sycl', 'sycl-v1', 'sycl-v2'])
  says(t, finding({}, 'round-trip-sycl'), { status: 'ok', detail: /read, written, closed/ })
  says(t, finding({}, 'round-trip-cuda'), { status: 'absent' })
})

test('wrong bytes, lost writes and what is left behind are failures', (t) => {
  const cases: [Partial<RoundTrip>, RegExp][] = [
    [{ read: false }, /importer read other bytes/], [{ written: false }, /exporter did not see/], [{ left: 2 }, /2 claims left/],
  ]
  for (const [changes, detail] of cases) {
    says(t, finding(trip(changes), 'round-trip-sycl'), { status: 'failed', detail, fix: /report/ })
    t.false(examined(trip(changes)).sharing.includes('sycl'))
  }
})

test('an error on the way, with what the runtime printed', (t) => {
  const answers = backend('sycl')
  const machine: Partial<Machine> = {
    backends: { sycl: { answers: { unavailable: '', devices: answers.devices }, end: 'failed', step: 'opening in another process', problem: 'the importer: zeMemOpenIpcHandle failed [ERR_USM_IPC_DRIVER_FAILED]', output: '<UMF> oops' } },
  }
  says(t, finding(machine, 'backend-sycl'), { status: 'ok' })
  says(t, finding(machine, 'round-trip-sycl'), { status: 'failed', detail: /zeMemOpenIpcHandle failed.*in opening in another process.*<UMF> oops/ })
  machine.kernel = { answers: { ...KERNEL, pidfd: { ...KERNEL.pidfd, self: { open: '', getfd: 'EPERM' } } } }
  t.regex(finding(machine, 'round-trip-sycl').fix!, /pidfd_getfd.*permissions below/)
})

test('a runtime that dies at its own end has shared memory all the same', (t) => {
  const machine = trip({}, { end: 'crashed', step: 'the end of the process', problem: 'SIGABRT', output: '[FATAL UMF]' })
  says(t, finding(machine, 'round-trip-sycl'), { status: 'warning', detail: /memory was shared, but then: .*SIGABRT.*FATAL UMF/ })
  t.true(examined(machine).sharing.includes('sycl'))
})

test('a backend without devices', (t) => {
  const machine: Partial<Machine> = { backends: { sycl: { answers: { unavailable: '', devices: [] }, end: 'failed', problem: 'it has no device' } } }
  says(t, finding(machine, 'backend-sycl'), { status: 'warning', detail: /no device/ })
  t.is(finding(machine, 'round-trip-sycl').status, 'failed')
})

test('without the addon nothing works, and it is said once why', (t) => {
  const lost = { answers: {}, end: 'failed' as const, step: '', problem: 'the native addon did not load: cannot open shared object file' }
  const machine: Partial<Machine> = {
    kernel: lost, levelZero: lost, libraries: lost,
    backends: { 'host': lost, 'level_zero': lost, 'sycl': lost, 'sycl-v1': lost, 'sycl-v2': lost, 'cuda': lost },
  }
  const report = examined(machine)
  t.false(report.ok)
  t.deepEqual(report.sharing, [])
  says(t, finding(machine, 'addon'), { status: 'failed', detail: /cannot open shared object/, fix: /npm ci/ })
  for (const id of ['backend-host', 'round-trip-host', 'memfd', 'memfd-seals', 'scm-rights', 'peer-pidfd', 'pidfd-open', 'libc', 'level-zero-loader', 'sycl-runtime', 'cuda-library'] as const) t.is(finding(machine, id).status, 'unknown', id)
  machine.kernel = { ...lost, problem: 'Requires ffi access, run again with the --allow-ffi flag' }
  t.regex(finding(machine, 'addon').fix!, /Deno.*--allow-run/)
})
