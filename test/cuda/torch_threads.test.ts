/** One share, several threads: it is counted down once, by whoever has it open last. */
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import test from 'ava'
import { ledger, openTorchStorage, type TorchStorage } from '../../host/index.ts'
import { cudaBackend } from '../support/backends.ts'
import { typescriptWorker } from '../support/typescript_worker.ts'
import { counterFile, counters, removeCounterFiles } from './counter_file.ts'
import { startTorchExporter } from './torch_exporter.ts'

cudaBackend('legacy')
const device = 'cuda'
test.after.always(removeCounterFiles)
test.afterEach.always((t) => t.is(ledger().live, 0))

const start = (): Worker => typescriptWorker(new URL('children/torch_worker.ts', import.meta.url))

async function tell(worker: Worker, task: TorchStorage | 'close'): Promise<void> {
  const answered = once(worker, 'message')
  worker.postMessage(task)
  await answered
}

test.serial('closed and terminated threads', async (t) => {
  const torch = await startTorchExporter()
  const name = counterFile(1n)
  const share: TorchStorage = { handle: torch.handle, nbytes: 64, offset: 0, refCounter: { name, offset: 0 } }
  const [closes, isTerminated] = [start(), start()]
  for (const worker of [closes, isTerminated]) await tell(worker, share)
  const here = [openTorchStorage(share, device), openTorchStorage(share, device)]
  await tell(closes, 'close')
  for (const one of here) one.close()
  t.deepEqual(counters(name), [1, 1n], 'a thread has it open')
  await isTerminated.terminate()
  t.deepEqual(counters(name), [1, 0n])
  t.throws(() => openTorchStorage(share, device), { code: 'ERR_USM_IPC_STALE_HANDLE' })
  await closes.terminate()
  await torch.stop()
})
