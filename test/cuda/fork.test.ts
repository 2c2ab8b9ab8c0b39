/** A copy that fork() made of a process that had used CUDA: it has no driver, says so, and takes nothing from the original. */
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { cudaBackend } from '../support/backends.ts'
import { hear, startChild } from '../support/child.ts'
import { compile } from '../level_zero/compile.ts'
import type { Answer } from './children/fork_party.ts'

cudaBackend('legacy')

test('everything is refused by name in the copy, closing is quiet, and the original goes on', async (t) => {
  const headers = fileURLToPath(new URL('../../node_modules/node-api-headers/include', import.meta.url))
  const forker = compile(['test/cuda/forker.c'], ['-shared', '-fPIC', `-I${headers}`], 'forker.node')
  // The copy has one thread only, also of V8's.
  const child = startChild(new URL('children/fork_party.ts', import.meta.url), { arguments: [forker.path], execArgv: ['--single-threaded'] })
  try {
    const { codes, reason, status, byte } = await hear<Answer>(child.channel)
    t.is(status, 0)
    const { 'close the event': event, 'close the handle': handle, 'close the memory': memory, ...refused } = codes
    t.deepEqual([event, handle, memory], ['ok', 'ok', 'ok'])
    for (const [name, code] of Object.entries(refused)) t.is(code, 'ERR_USM_IPC_FORKED', name)
    t.is(Object.keys(refused).length, 8)
    t.regex(reason, /forked after CUDA had been used/)
    t.is(byte, 4, 'the memory is as it was')
  } finally {
    await child.kill()
    forker.remove()
  }
})
