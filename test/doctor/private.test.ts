// A report is made to be sent: it says nothing of who its owner is.
import test from 'ava'
import { SHOWN } from '../../host/doctor/variables.ts'
import { scrub } from '../../host/doctor/scrub.ts'
import { LEVEL_ZERO, backend, examined, finding, says, type Machine } from './machine.ts'

const alice = { home: '/home/alice', user: 'alice' }

test('home folders and user names', (t) => {
  const cases: [string, string][] = [
    ['/home/alice/.cache/x', '~/.cache/x'], ['/home/alice', '~'], ['/home/alicette/x', '/home/(user)/x'], ['/home/bob/lib:/home/alice/lib', '/home/(user)/lib:~/lib'],
    ['/scratch/alice/venv', '/scratch/(user)/venv'], ['malice aforethought', 'malice aforethought'], ['user alice (1000)', 'user (user) (1000)'], ['/Users/carol/x', '/Users/(user)/x'],
  ]
  for (const [text, shown] of cases) t.is(scrub(text, alice), shown)
  t.deepEqual(scrub({ a: ['/home/alice/a', 1, null, true], b: { c: '/home/alice' } }, alice), { a: ['~/a', 1, null, true], b: { c: '~' } } as never)
  t.is(scrub('root:render in /root/x', { home: '/root', user: 'root' }), 'root:render in ~/x')
  t.is(scrub('/ and /lib', { home: '/', user: '' }), '/ and /lib')
})

test('handles that a driver prints', (t) => {
  const token = `usmipc0.${'A'.repeat(80)}`
  t.false(JSON.stringify(scrub({ output: `failed on ${token} and ${'ab'.repeat(40)}` }, alice)).includes('AAAA'))
})

test('a whole report of a machine with secrets', (t) => {
  const secret = 'hunter2-hunter2'
  const machine: Partial<Machine> = {
    variables: {
      AWS_SECRET_ACCESS_KEY: secret, HOME: '/home/alice', USER: 'alice', USM_IPC_PRIVATE: secret, SYCL_SECRET: secret, CUDA_VISIBLE_DEVICES: '0,1',
      KUBERNETES_SERVICE_HOST: secret, container: `${secret} x`, ZE_AFFINITY_MASK: `${secret}!`, LD_LIBRARY_PATH: '/home/alice/lib:/opt/lib', VIRTUAL_ENV: `${secret}@host`,
    },
    levelZero: { answers: { ...LEVEL_ZERO, loader: { path: '/home/alice/lib/libze_loader.so.1', error: '', missing: [] } } },
    backends: { sycl: { answers: { ...backend('sycl'), unavailable: 'cannot open /home/alice/x' } } },
  }
  const text = JSON.stringify(examined(machine))
  t.false(text.includes(secret))
  t.false(text.includes('alice'))
  t.true(text.includes('~/lib/libze_loader.so.1'))
  const { values, alsoSet } = finding(machine, 'variables').data as { values: Record<string, string>; alsoSet: string[] }
  t.deepEqual(values, { ZE_AFFINITY_MASK: '(16 characters, not shown)', CUDA_VISIBLE_DEVICES: '0,1', LD_LIBRARY_PATH: '~/lib:/opt/lib', VIRTUAL_ENV: '(20 characters, not shown)' })
  t.deepEqual(alsoSet, ['SYCL_SECRET', 'USM_IPC_PRIVATE'], 'names alone')
})

test('variables whose values are shown hold words or paths', (t) => {
  for (const name of SHOWN) t.notRegex(name, /KEY|TOKEN|SECRET|PASS|CRED|AUTH|COOKIE|USER$/)
})

test('variables that cannot be meant', (t) => {
  const set = (variables: Record<string, string>): ReturnType<typeof finding> => finding({ variables }, 'variables')
  says(t, set({}), { status: 'ok', detail: 'none that matter' })
  says(t, set({ SYCL_UR_USE_LEVEL_ZERO_V2: 'yes' }), { status: 'warning', fix: /0 or 1/ })
  says(t, set({ ZEL_LIBRARY_PATH: '/nowhere' }), { status: 'warning', fix: /libze_loader\.so\.1.*unset/ })
  says(t, set({ ONEAPI_DEVICE_SELECTOR: 'opencl:*' }), { status: 'warning', fix: /level_zero/ })
  for (const value of ['yes', 'true', '2', '01']) says(t, set({ USM_IPC_SOFTWARE_DRIVER: value }), { status: 'warning', fix: new RegExp(`^USM_IPC_SOFTWARE_DRIVER takes 1 \\(or 0\\), not ${value}$`) })
  for (const value of ['', '0', '1']) says(t, set({ USM_IPC_SOFTWARE_DRIVER: value }), { status: 'ok' })
  says(t, set({ USM_IPC_SOFTWARE_DRIVER: 'hunter2@home' }), { status: 'warning', fix: /not \(12 characters, not shown\)$/ })
  says(t, set({ SYCL_UR_USE_LEVEL_ZERO_V2: '2', ONEAPI_DEVICE_SELECTOR: 'opencl:cpu' }), { status: 'warning', fix: /0 or 1; ONEAPI_DEVICE_SELECTOR hides/ })
  for (const value of ['cuda:0;opencl:*', '!level_zero:*', '*:*;!level_zero:*', 'level_zerox']) {
    says(t, set({ ONEAPI_DEVICE_SELECTOR: value }), { status: 'warning', fix: /^ONEAPI_DEVICE_SELECTOR hides/ })
  }
  for (const value of ['*:gpu', 'opencl:*;level_zero:0', '!opencl:*', 'level_zero:*;!level_zero:1', ' Level_Zero:gpu']) says(t, set({ ONEAPI_DEVICE_SELECTOR: value }), { status: 'ok' })
  says(t, set({ ONEAPI_DEVICE_SELECTOR: 'level_zero:gpu', ZEL_LIBRARY_PATH: '/usr/lib' }), { status: 'ok' })
})
