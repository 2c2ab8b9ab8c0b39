import test from 'ava'
import { Program } from './programs.ts'

const program = new Program('faults')

test('every function fails by request: its first and its third call, each with a result of its own', async (t) => {
  const names = await program.passes(t, 'names')
  t.true(names.length > 200)
  const faults = names.flatMap((name, i) => [`${name}:1:${0x70000100 + i}`, `${name}:3:0x${(0x70001100 + i).toString(16)}`])
  await program.passes(t, 'every_function_fails', { USM_IPC_ZE_FAULT: faults.join() })
})

test('no function does more with null arguments than to say so', (t) => program.passes(t, 'null_arguments').then(() => undefined))

test('what the driver does not do it refuses, and names it on request', async (t) => {
  await program.passes(t, 'refused_by_name')
  const { stderr } = await program.run('refused_by_name', { USM_IPC_ZE_TRACE: '1' })
  for (const name of ['zeModuleCreate', 'zeImageCreate', 'zeEventPoolGetIpcHandle']) {
    t.true(stderr.includes(`usm-ipc software driver: ${name}: ZE_RESULT_ERROR_UNSUPPORTED_FEATURE (0x78000003)\n`))
  }
})

for (const [name, env] of [
  ['every_call_fails', { USM_IPC_ZE_FAULT: 'zeMemAllocDevice:*:0x70000003' }],
  ['device_lost', { USM_IPC_ZE_LOST: 'zeMemGetIpcHandle:2' }],
  ['device_lost_after_some_calls', { USM_IPC_ZE_LOST: '4' }],
] as const) {
  test(name.replaceAll('_', ' '), (t) => program.passes(t, name, env).then(() => undefined))
}
