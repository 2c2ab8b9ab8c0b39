/** Copies around the borders of their ways: the driver's own, and the staging of pieces by several threads. */
import { Worker } from 'node:worker_threads'
import { once } from 'node:events'
import test from 'ava'
import { MemoryUSMDevice, MemoryUSMHost } from '../../host/index.ts'
import { cudaBackend } from '../support/backends.ts'

cudaBackend('legacy')
const device = 'cuda'
const [KB, MB] = [1 << 10, 1 << 20]

function pattern(nbytes: number, seed = 1): Uint8Array {
  const words = new Uint32Array(Math.ceil(nbytes / 4))
  for (let i = 0, x = seed; i < words.length; i++) words[i] = x = (Math.imul(x, 1664525) + 1013904223) >>> 0
  return new Uint8Array(words.buffer, 0, nbytes)
}

const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

test.serial('all sizes and odd places, both ways', async (t) => {
  using memory = new MemoryUSMDevice(40 * MB, { device })
  for (const nbytes of [1, 4 * KB - 1, 256 * KB, MB - 1, MB, MB + 1, 2 * MB + 4095, 4 * MB, 8 * MB + 3, 33 * MB + 1]) {
    for (const offset of [0, 1, 4097]) {
      const bytes = pattern(nbytes + 1, nbytes + offset).subarray(1) // not aligned either
      memory.fill(0)
      t.is(memory.copyFrom(bytes, offset), nbytes)
      const back = new Uint8Array(nbytes + 3)
      t.is(memory.copyTo(back.subarray(2, nbytes + 2), offset), nbytes)
      t.true(same(back.subarray(2, nbytes + 2), bytes), `${nbytes} at ${offset}`)
      t.deepEqual([back[0], back[1], back[nbytes + 2]], [0, 0, 0])
      const edges = new Uint8Array(1)
      memory.copyTo(edges, offset + nbytes)
      t.is(edges[0], 0, 'nothing beyond')
    }
  }
  const bytes = pattern(40 * MB, 9)
  const progress: number[] = []
  t.is(await memory.copyFromAsync(bytes, 0, { onProgress: (done) => void progress.push(done) }), 40 * MB)
  t.true(progress.length > 5 && progress.at(-1) === 40 * MB)
  const back = new Uint8Array(40 * MB)
  t.is(await memory.copyToAsync(back), 40 * MB)
  t.true(same(back, bytes))
})

test.serial('inside one memory, overlapping in both directions', (t) => {
  const nbytes = 12 * MB
  using memory = new MemoryUSMDevice(nbytes, { device, ipc: 'fd' })
  for (const [from, to, length] of [[0, 1, 3 * MB], [5, 0, 3 * MB], [0, 5 * MB, 7 * MB], [5 * MB, 1, 6 * MB], [7, 7, MB]] as const) {
    const bytes = pattern(nbytes, from + to)
    memory.copyFrom(bytes)
    const expected = bytes.slice()
    expected.copyWithin(to, from, from + length)
    const [source, target] = [part(memory, from, length), part(memory, to, length)]
    target.copyFrom(source)
    source.close()
    target.close()
    const back = new Uint8Array(nbytes)
    memory.copyTo(back)
    t.true(same(back, expected), `${from} to ${to}`)
  }
})

function part(memory: MemoryUSMDevice, offset: number, nbytes: number): MemoryUSMDevice {
  return MemoryUSMDevice.fromPointer(memory.pointer + BigInt(offset), nbytes, { device, allowNeighbours: true })
}

test.serial('with host memory of the driver', (t) => {
  using host = new MemoryUSMHost(3 * MB, { device })
  using memory = new MemoryUSMDevice(3 * MB, { device })
  const bytes = pattern(3 * MB)
  host.view().set(bytes)
  memory.copyFrom(host)
  host.fill(0)
  host.copyFrom(memory)
  t.true(same(host.view(), bytes))
})

test.serial('several threads at once', async (t) => {
  const source = new URL('children/copy_worker.ts', import.meta.url)
  const bootstrap = `import('tsx/esm/api').then(({ register }) => { register(); return import(${JSON.stringify(source.href)}) })`
  const workers = [1, 2, 3, 4].map((seed) => new Worker(bootstrap, { eval: true, workerData: { seed } }))
  const exits = workers.map((worker) => once(worker, 'exit'))
  const answers = await Promise.all(workers.map(async (worker) => ((await once(worker, 'message')) as [{ wrong: number }])[0]))
  t.deepEqual(answers, Array(4).fill({ wrong: 0 }))
  t.deepEqual(await Promise.all(exits), Array(4).fill([0]))
})
