/** Threads of one process, on any backend. */
import test, { type ExecutionContext } from 'ava'
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { IPCMemoryHandle, MemoryUSMDevice, ledger } from '../../host/index.ts'
import { asForeign } from '../support/forge.ts'
import { collectUntil } from '../support/gc.ts'
import { counts, openDescriptors, settledDescriptors } from '../support/counts.ts'
import { typescriptWorker } from '../support/typescript_worker.ts'
import type { BackendUnderTest } from '../contract/types.ts'
import type { Task } from './children/worker.ts'
import { ipcOption, onGpu } from '../support/ipc.ts'

const started = new Set<Worker>()
test.afterEach.always(async () => {
  for (const worker of started) await worker.terminate()
  started.clear()
})

function start(): Worker {
  const worker = typescriptWorker(new URL('children/worker.ts', import.meta.url))
  started.add(worker)
  return worker
}

async function ask<T>(worker: Worker, task: Task): Promise<T> {
  worker.postMessage(task)
  const [answer] = (await once(worker, 'message')) as [{ result?: T; error?: string }]
  if (answer.error !== undefined) throw new Error(answer.error)
  return answer.result as T
}

/** Counts as they are before any worker, and the same again when the last has gone. */
async function leavesNothing(t: ExecutionContext, { selector, keepsMappings = 0 }: BackendUnderTest, action: () => Promise<void>): Promise<void> {
  new MemoryUSMDevice(4096, { device: selector, ...ipcOption() }).close() // what a driver opens once, it has opened now
  const after = (): object => ({
    ...counts(), ...(keepsMappings === 0 ? {} : { mappings: 0 }), environments: ledger({ process: true }).environments,
  })
  const before = after()
  const descriptors = await settledDescriptors()
  await action()
  await collectUntil(() => JSON.stringify(after()) === JSON.stringify(before) && isFlat(descriptors))
  t.deepEqual(after(), before)
  t.true(isFlat(descriptors), `${openDescriptors()} descriptors, ${descriptors} before`)
}

/** NVIDIA's driver closes some of its own again, at times of its own. */
const isFlat = (before: number): boolean => (onGpu ? openDescriptors() <= before : openDescriptors() === before)

export function testWorkers(backend: BackendUnderTest): void {
  const { selector } = backend
  process.env['USM_IPC_TEST_SELECTOR'] = selector

  test.serial('workers open and close their own, at the same time', async (t) => {
    await leavesNothing(t, backend, async () => {
      const workers = [start(), start(), start()]
      const answers = await Promise.all(workers.map((worker) => ask<{ live: number }>(worker, { do: 'cycle', times: 300 })))
      t.deepEqual(answers, [{ live: 0 }, { live: 0 }, { live: 0 }])
      t.is(ledger({ process: true }).environments, 4)
      await Promise.all(workers.map((worker) => worker.terminate()))
    })
  })

  test.serial('a terminated worker\'s claims are ended, views included', async (t) => {
    await leavesNothing(t, backend, async () => {
      for (let i = 0; i < 5; i++) {
        const worker = start()
        const holding = await ask<{ live: number; environments: number }>(worker, { do: 'hold' })
        t.deepEqual(holding, { live: 7, environments: 2 })
        t.is(ledger().live, 0, 'this thread\'s own book knows nothing of them')
        t.true(ledger({ process: true }).claims >= 8)
        await worker.terminate()
      }
    })
  })

  test.serial('a worker that is terminated in the middle of cycles leaves nothing', async (t) => {
    await leavesNothing(t, backend, async () => {
      for (let i = 0; i < 5; i++) {
        const worker = start()
        await ask(worker, { do: 'cycle', times: 1 })
        worker.postMessage({ do: 'cycle', times: 1_000_000 } satisfies Task)
        await new Promise((resolve) => setTimeout(resolve, 20 * i))
        await worker.terminate()
      }
    })
  })

  test.serial('process.exit() in a worker ends its claims', async (t) => {
    await leavesNothing(t, backend, async () => {
      const worker = start()
      await ask(worker, { do: 'hold' })
      worker.postMessage({ do: 'exit' } satisfies Task)
      t.deepEqual(await once(worker, 'exit'), [3])
    })
  })

  test.serial('what one worker exports another opens, as the process\'s own memory', async (t) => {
    await leavesNothing(t, backend, async () => {
      const [exporter, importer] = [start(), start()]
      const { bytes } = await ask<{ bytes: Uint8Array }>(exporter, { do: 'export' })
      t.deepEqual(await ask(importer, { do: 'open', bytes }), { path: 'self', byte: 0x42 })
      t.deepEqual(await ask(importer, { do: 'open', bytes }), { path: 'self', byte: 0x42 })
      {
        using here = IPCMemoryHandle.open(bytes, selector)
        t.is(here.path, 'self')
        const two = new Uint8Array(2)
        here.copyTo(two)
        t.deepEqual(two, new Uint8Array([0x42, 0x43]))
        // The exporter goes, the claims of the others stay.
        await exporter.terminate()
        here.copyTo(two)
        t.deepEqual(two, new Uint8Array([0x42, 0x43]))
      }
      t.deepEqual(await ask(importer, { do: 'close' }), { live: 0 })
      t.throws(() => IPCMemoryHandle.open(bytes, selector), { code: 'ERR_USM_IPC_DESCRIPTOR_MISSING' }, 'its last claim has ended')
      await importer.terminate()
    })
  })

  test.serial('a mapping of one worker\'s is cached for another, and survives the first', async (t) => {
    await leavesNothing(t, backend, async () => {
      using memory = new MemoryUSMDevice(4096, { device: selector, ...ipcOption() })
      memory.fill(0x42)
      using handle = new IPCMemoryHandle(memory)
      const bytes = asForeign(handle.toBytes())
      const mapped = IPCMemoryHandle.open(bytes, selector, undefined, { descriptor: handle.descriptors[0]! })
      t.is(mapped.path, 'mapped')
      const worker = start()
      t.deepEqual(await ask(worker, { do: 'open', bytes }), { path: 'cached', byte: 0x42 })
      mapped.close()
      t.deepEqual(await ask(worker, { do: 'open', bytes }), { path: 'cached', byte: 0x42 })
      await worker.terminate()
    })
  })

  test.serial('a claim of one worker\'s is nothing in another: not read, not written, not ended', async (t) => {
    await leavesNothing(t, backend, async () => {
      const [owner, other] = [start(), start()]
      const { bytes, claim } = await ask<{ bytes: Uint8Array; claim: number }>(owner, { do: 'export' })
      const results = await ask<string[]>(other, { do: 'touch', claim })
      t.is(results.shift(), 'false', 'end() says that it ended nothing')
      for (const result of results) t.is(result, 'unknown-claim')
      t.deepEqual(await ask(owner, { do: 'open', bytes }), { path: 'self', byte: 0x42 }, 'it is as alive as before')
      await Promise.all([owner.terminate(), other.terminate()])
    })
  })
}
