/** The same memory in Node and in Python: what each exports the other reads, and writes back. */
import { existsSync, readFileSync } from 'node:fs'
import test from 'ava'
import { IPCEvent, IPCMemoryHandle, MemoryUSMDevice, decode as decodeEnvelope, ledger, openTorchStorage } from '../../host/index.ts'
import { decode, encode } from '../support/child.ts'
import { figure } from './figure.ts'
import { PythonParty } from './python_party.ts'

const device = 'cuda'
const [COUNT, START] = [5000, 1234]

interface Shared {
  handle: string
  nbytes: number
  offset: number
}

const ints = (bytes: Uint8Array): Int32Array => new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)

test.afterEach.always((t) => t.is(ledger().live, 0))

test.serial('PyTorch shares a tensor inside a segment; its counter is counted down', async (t) => {
  await using torch = new PythonParty('torch_party')
  const shared = await torch.do<Shared & { device: number; counter: string; index: number; event: string; wait: boolean }>('share', { skip: 5000, count: COUNT })
  t.true(shared.offset > 0, 'the tensor is not the segment\'s first')
  const counter = (): bigint => readFileSync(`/dev/shm${shared.counter}`).readBigInt64LE(64 + 8 * shared.index)
  t.is(counter(), 1n)
  const memory = openTorchStorage([shared.device, decode(shared.handle), shared.nbytes, shared.offset, shared.counter, shared.index, decode(shared.event), shared.wait], device)
  const bytes = new Uint8Array(COUNT * 4)
  memory.copyTo(bytes)
  t.deepEqual(ints(bytes), Int32Array.from({ length: COUNT }, (_, i) => i))
  memory.copyFrom(Int32Array.of(4711), 40)
  t.is(await torch.do<number>('read own', { index: 10 }), 4711)
  memory.close()
  t.is(existsSync(`/dev/shm${shared.counter}`) ? counter() : 0n, 0n)
  t.is(await torch.do<number>('collect'), 0, 'PyTorch has its memory back')
  figure('PyTorch exports, Node reads', { 'offset in the segment': shared.offset, nbytes: shared.nbytes, right: true, counter: 0 })
})

test.serial('Node exports, PyTorch reads and writes', async (t) => {
  await using torch = new PythonParty('torch_party')
  using memory = new MemoryUSMDevice(3 << 20, { device })
  memory.copyFrom(Uint8Array.from({ length: 3 << 20 }, (_, i) => i * 11))
  using handle = new IPCMemoryHandle(memory, { offset: 4096, nbytes: 10_000 })
  using event = new IPCEvent({ device })
  event.record()
  const values = await torch.do<string>('open', {
    handle: encode(handle.toBytes({ format: 'vendor', layout: 'torch-cuda' })), nbytes: 10_000, offset: handle.offset, event: encode(decodeEnvelope(event.toBytes()).handle),
  })
  const expected = Uint8Array.from({ length: 10_000 }, (_, i) => (4096 + i) * 11)
  t.deepEqual(decode(values), expected)
  const back = new Uint8Array(10_000)
  memory.copyTo(back, 4096)
  t.deepEqual(back, expected.map((byte) => byte + 1))
  await torch.do('close')
  figure('Node exports, PyTorch reads and writes back', { offset: handle.offset, right: true })
})

for (const [library, name] of [['cupy_party', 'CuPy'], ['numba_party', 'numba']] as const) {
  test.serial(`${name} shares a part of an array`, async (t) => {
    await using python = new PythonParty(library)
    const shared = await python.do<Shared>('share', { count: COUNT, start: START })
    t.true(shared.offset >= START * 4, 'it is said beside the handle, which has forgotten it')
    using memory = IPCMemoryHandle.openVendor(decode(shared.handle), device, shared.nbytes, { layout: 'cuda', offset: shared.offset })
    const bytes = new Uint8Array(shared.nbytes)
    memory.copyTo(bytes)
    t.deepEqual(ints(bytes), Int32Array.from({ length: COUNT - START }, (_, i) => START + i))
    memory.copyFrom(Int32Array.of(-5), 400)
    t.is(await python.do<number>('read own', { index: START + 100 }), -5)
    figure(`${name} exports, Node reads and writes back`, { offset: shared.offset, right: true })
  })

  test.serial(`Node exports, ${name} reads and writes`, async (t) => {
    await using python = new PythonParty(library)
    using memory = new MemoryUSMDevice(3 << 20, { device })
    memory.copyFrom(Uint8Array.from({ length: 3 << 20 }, (_, i) => i * 13))
    using handle = new IPCMemoryHandle(memory, { offset: 8192, nbytes: 5000 })
    const values = await python.do<string>('open', { handle: encode(handle.toBytes({ format: 'vendor' })), nbytes: 5000, offset: handle.offset })
    const expected = Uint8Array.from({ length: 5000 }, (_, i) => (8192 + i) * 13)
    t.deepEqual(decode(values), expected)
    const back = new Uint8Array(5000)
    memory.copyTo(back, 8192)
    t.deepEqual(back, expected.map((byte) => byte + 1))
    await python.do('close')
    figure(`Node exports, ${name} reads and writes back`, { offset: handle.offset, right: true })
  })
}

test.serial('cuda-core shares a buffer of its pool', async (t) => {
  await using python = new PythonParty('cuda_core_party')
  const shared = await python.do<Omit<Shared, 'offset'>>('share', { count: 9000 })
  const { descriptors } = await python.channel.receive()
  using memory = IPCMemoryHandle.openVendor(decode(shared.handle), device, shared.nbytes, { layout: 'cuda-pool', descriptor: descriptors[0]! })
  descriptors[0]!.close()
  const bytes = new Uint8Array(9000)
  memory.copyTo(bytes)
  t.deepEqual(bytes, Uint8Array.from({ length: 9000 }, (_, i) => i * 7))
  memory.copyFrom(Uint8Array.of(99), 50)
  t.is(await python.do<number>('read own', { index: 50 }), 99)
  figure('cuda-core exports, Node reads and writes back', { nbytes: 9000, right: true })
})

test.serial('Node exports a pool\'s memory, cuda-core reads and writes', async (t) => {
  await using python = new PythonParty('cuda_core_party')
  using memory = new MemoryUSMDevice(9000, { device, ipc: 'pool' })
  memory.copyFrom(Uint8Array.from({ length: 9000 }, (_, i) => i * 3))
  using handle = new IPCMemoryHandle(memory)
  await python.channel.send(new Uint8Array([1]), { descriptors: handle.descriptors })
  const values = await python.do<string>('open', { handle: encode(handle.toBytes({ format: 'vendor' })), nbytes: 9000 })
  t.deepEqual(decode(values), Uint8Array.from({ length: 9000 }, (_, i) => i * 3))
  const back = new Uint8Array(9000)
  memory.copyTo(back)
  t.deepEqual(back, Uint8Array.from({ length: 9000 }, (_, i) => i * 3 + 1))
  await python.do('close')
  figure('Node exports a pool, cuda-core reads and writes back', { nbytes: 9000, right: true })
})
