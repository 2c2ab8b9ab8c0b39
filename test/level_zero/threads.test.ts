/** Threads share one driver, one device and one list of commands. */
import { once } from 'node:events'
import test from 'ava'
import { MemoryUSMDevice, ledger } from '../../host/index.ts'
import { counts, openDescriptors } from '../support/counts.ts'
import { collectUntil } from '../support/gc.ts'
import { typescriptWorker } from '../support/typescript_worker.ts'

Object.assign(process.env, { USM_IPC_SOFTWARE_DRIVER: '1', USM_IPC_ZE_HANDLES: 'opaque' })

test.serial('workers allocate, export, open, copy and free at the same time', async (t) => {
  new MemoryUSMDevice(1, { device: 'level_zero' }).close()
  const before = { ...counts(), environments: ledger({ process: true }).environments, descriptors: openDescriptors() }
  const workers = Array.from({ length: 4 }, () => typescriptWorker(new URL('children/threads.ts', import.meta.url)))
  const answers = await Promise.all(workers.map(async (worker) => ((await once(worker, 'message')) as [string])[0]))
  t.deepEqual(answers, ['200', '200', '200', '200'])
  await Promise.all(workers.map((worker) => worker.terminate()))
  const after = (): object => ({ ...counts(), environments: ledger({ process: true }).environments, descriptors: openDescriptors() })
  await collectUntil(() => JSON.stringify(after()) === JSON.stringify(before))
  t.deepEqual(after(), before)
})
