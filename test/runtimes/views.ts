/**
 * What becomes of a view that is cloned, transferred or posted to a worker. Runtimes differ, and docs/views.md says how;
 * what must hold in each: nothing crashes, whoever has a buffer reads valid bytes, and the memory goes with the last one.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import test, { after } from 'node:test'
import { Worker } from 'node:worker_threads'
import { MemoryUSMDevice, ledger } from '../../host/index.ts'
import { collectUntil } from '../support/gc.ts'
import { typescriptWorker } from '../support/typescript_worker.ts'

const NBYTES = 65_536

interface Runtime {
  Deno?: { version: { deno: string } }
  Bun?: { version: string }
}
const { Deno, Bun } = globalThis as Runtime
const runtime = Deno !== undefined ? `Deno ${Deno.version.deno}` : Bun !== undefined ? `Bun ${Bun.version}` : `Node ${process.versions.node}`

const outcomes: Record<string, string> = {}
after(() => console.log(`views: ${JSON.stringify({ runtime, ...outcomes })}`))

/** In a function of its own, so that nothing here holds a buffer afterwards. */
async function withView(name: string, use: (view: Uint8Array<ArrayBuffer>, memory: MemoryUSMDevice) => Promise<string>): Promise<void> {
  using memory = new MemoryUSMDevice(NBYTES, { device: 'host' })
  memory.fill(5)
  const view = memory.view()
  try {
    outcomes[name] = await use(view, memory)
  } catch (error) {
    if ((error as Error).name !== 'DataCloneError') throw error
    outcomes[name] = 'throws DataCloneError, the original stays'
    assert.deepEqual([view.length, view[0]], [NBYTES, 5], 'a refused transfer leaves the view as it was')
  }
}

async function collectUnderPressure(): Promise<void> {
  for (let i = 0; i < 5; i++) {
    Array.from({ length: 100 }, () => new Uint8Array(1 << 16).fill(i))
    await collectUntil(() => false, 1)
  }
}

const marked = (memory: MemoryUSMDevice): boolean => {
  const bytes = new Uint8Array(2)
  memory.copyTo(bytes)
  return bytes[1] === 77
}

function outcome(shares: boolean, view: Uint8Array): string {
  const left = view.length === 0 ? 'the original is empty' : 'the original stays'
  return `${shares ? 'transfers: the same memory' : 'copies'}, ${left}`
}

async function inWorker(view: Uint8Array<ArrayBuffer>, memory: MemoryUSMDevice, transfer: ArrayBuffer[]): Promise<string> {
  const worker = new Worker(new URL('views_worker.mjs', import.meta.url))
  try {
    await Promise.race([once(worker, 'online'), once(worker, 'error').then(([error]) => Promise.reject(error as Error))])
    worker.postMessage(view, transfer)
    assert.deepEqual(await once(worker, 'message'), [{ length: NBYTES, seen: [5, 5] }])
    const result = outcome(marked(memory), view)
    memory.close()
    await collectUnderPressure()
    worker.postMessage('again')
    assert.deepEqual(await once(worker, 'message'), [{ length: NBYTES, seen: [5, 77] }], 'it is readable there for as long as it is held')
    return result
  } finally {
    await worker.terminate()
  }
}

function local(make: (view: Uint8Array<ArrayBuffer>) => Uint8Array) {
  return async (view: Uint8Array<ArrayBuffer>, memory: MemoryUSMDevice): Promise<string> => {
    const made = make(view)
    assert.deepEqual([made.length, made[0]], [NBYTES, 5])
    made[1] = 77
    const result = outcome(marked(memory), view)
    memory.close()
    await collectUnderPressure()
    assert.deepEqual([made.length, made[0], made[1], made[NBYTES - 1]], [NBYTES, 5, 77, 5], 'it is readable for as long as it is held')
    return result
  }
}

const ways: Record<string, (view: Uint8Array<ArrayBuffer>, memory: MemoryUSMDevice) => Promise<string>> = {
  'structuredClone': local((view) => structuredClone(view)),
  'structuredClone, transfer': local((view) => structuredClone(view, { transfer: [view.buffer] })),
  'ArrayBuffer.transfer': local((view) => new Uint8Array((view.buffer as ArrayBuffer & { transfer(): ArrayBuffer }).transfer())),
  'slice': local((view) => view.slice()),
  'postMessage': (view, memory) => inWorker(view, memory, []),
  'postMessage, transfer': (view, memory) => inWorker(view, memory, [view.buffer]),
}

for (const [name, way] of Object.entries(ways)) {
  const absent = name === 'ArrayBuffer.transfer' && !('transfer' in ArrayBuffer.prototype)
  test(`a view and ${name}`, { skip: absent ? `${runtime} has no ${name}` : false }, async () => {
    await withView(name, way)
    assert(await collectUntil(() => ledger({ process: true }).claims === 0), 'the memory goes with the last buffer')
    assert.equal(ledger().live, 0)
  })
}

test('views of a worker that is terminated', async () => {
  const script = new URL('views_maker.ts', import.meta.url)
  const runsTypescript = Deno !== undefined || Bun !== undefined || Number(process.versions.node.split('.')[0]) >= 24
  const worker = runsTypescript ? new Worker(script) : typescriptWorker(script)
  assert.deepEqual(await once(worker, 'message'), ['made'])
  assert.equal(ledger({ process: true }).claims, 4)
  await worker.terminate()
  assert(await collectUntil(() => ledger({ process: true }).claims === 0), 'its claims end, those of its views too')
  assert.equal(ledger().live, 0)
})
