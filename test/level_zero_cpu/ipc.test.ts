/** Two processes. What a real driver gets wrong this one gets wrong as well: that is what makes it worth testing against. */
import test from 'ava'
import { Program } from './programs.ts'

const program = new Program('ipc')

/** Which ways there are of getting at the descriptor, by the form of the handle. */
const FORMS: Record<string, readonly string[]> = {
  'classic': ['descriptor_put_into_the_handle', 'reused_number_opens_the_wrong_memory'],
  'opaque': [
    'descriptor_fetched_by_the_driver', 'descriptor_and_process_put_into_the_handle', 'reused_number_opens_the_wrong_memory',
    'exporter_that_may_not_be_asked', 'exporter_that_is_gone',
  ],
  'opaque-mirror': [
    'descriptor_put_into_the_handle', 'descriptor_fetched_by_the_driver', 'descriptor_and_process_put_into_the_handle',
    'reused_number_opens_the_wrong_memory', 'exporter_that_may_not_be_asked', 'exporter_that_is_gone',
  ],
}

for (const [form, names] of Object.entries(FORMS)) {
  for (const name of names) {
    test(`${form}: ${name.replaceAll('_', ' ')}`, (t) => program.passes(t, name, { USM_IPC_ZE_HANDLES: form }).then(() => undefined))
  }
}

test('opaque: a descriptor that is put into the handle is taken for one of the exporter', async (t) => {
  const { code, stderr } = await program.run('descriptor_put_into_the_handle', { USM_IPC_ZE_HANDLES: 'opaque' })
  t.is(code, 1)
  t.regex(stderr, /gave ZE_RESULT_ERROR_INVALID_ARGUMENT/)
})

test('classic: a handle says nothing of the process that has its descriptor', async (t) => {
  const { code, stderr } = await program.run('descriptor_fetched_by_the_driver', { USM_IPC_ZE_HANDLES: 'classic' })
  t.is(code, 1)
  t.regex(stderr, /gave ZE_RESULT_ERROR_INVALID_ARGUMENT/)
})

test('two processes agree about the UUID', (t) => program.passes(t, 'uuid_of_two_processes').then(() => undefined))
