import test from 'ava'
import { Program } from './programs.ts'

const program = new Program('memory')

const ENVIRONMENT: Record<string, Record<string, string>> = {
  memory_runs_out: { USM_IPC_ZE_MEMORY: '1048576', USM_IPC_ZE_SUBDEVICES: '1' },
}

for (const name of program.cases) {
  test(name.replaceAll('_', ' '), (t) => program.passes(t, name, ENVIRONMENT[name]).then(() => undefined))
}

/** From its layout: fd 7, pid 9, everything that is not named is zero. */
function layout(fields: Record<number, number>): string {
  return Array.from({ length: 64 }, (_, i) => (fields[i] ?? 0).toString(16).padStart(2, '0')).join('')
}

test('the bytes of a handle, of device and of host USM', async (t) => {
  const bytes = (form: string): Promise<string[]> => program.passes(t, 'handle_bytes', { USM_IPC_ZE_HANDLES: form })
  t.deepEqual(await bytes('classic'), [layout({ 0: 7 }), layout({ 0: 7, 16: 1 })])
  t.deepEqual(await bytes('opaque'), [layout({ 0: 7, 16: 9 }), layout({ 0: 7, 16: 9, 21: 1 })])
  t.deepEqual(await bytes('opaque-mirror'), [layout({ 0: 7, 16: 9, 22: 7 }), layout({ 0: 7, 16: 9, 21: 1, 22: 7 })])
  t.deepEqual(await program.passes(t, 'handle_bytes'), await bytes('opaque-mirror'))
})

for (const form of ['classic', 'opaque']) {
  test(`${form}: opened where it was made, and flat over thousands of cycles`, async (t) => {
    const env = { USM_IPC_ZE_HANDLES: form }
    for (const name of ['opened_in_the_same_process', 'host_usm_opens_as_host_usm', 'exported_descriptor', 'bad_handles', 'no_leak']) {
      await program.passes(t, name, env)
    }
  })
}
