/** Memory that another library of the process allocated, of every kind that CUDA has. */
import test, { type ExecutionContext } from 'ava'
import { IPCMemoryHandle, MemoryUSMDevice, decode, ledger } from '../../host/index.ts'
import { cudaBackend } from '../support/backends.ts'
import { rawDriver } from './raw_driver.ts'

const backend = cudaBackend('legacy')
const raw = rawDriver()
const BLOCK = 2 << 20
const device = 'cuda'

const ramp = (nbytes: number, from = 0): Uint8Array => Uint8Array.from({ length: nbytes }, (_, i) => (from + i) * 13)

/** Exports `nbytes` at `offset` of the allocation, and reads them in another process, which writes one back. */
async function shares(t: ExecutionContext, pointer: bigint, offset: number, nbytes: number, layout: string, options: { allowNeighbours?: boolean } = {}): Promise<void> {
  raw.write(pointer, ramp(offset + nbytes))
  using memory = MemoryUSMDevice.fromPointer(pointer + BigInt(offset), nbytes, { device, ...options })
  t.is(memory.nbytes, nbytes)
  t.is(memory.pointer, pointer + BigInt(offset))
  t.is(memory.baseAllocation!.offset, offset)
  using handle = new IPCMemoryHandle(memory)
  const envelope = decode(handle.toBytes())
  t.like({ layout: envelope.layout, offset: envelope.offset, nbytes: envelope.nbytes }, { layout, offset, nbytes })
  t.is(handle.offset, offset)
  const importer = await backend.openElsewhere(handle)
  t.is(importer.nbytes, nbytes)
  const part = Math.min(nbytes, 10_000)
  for (const at of [0, nbytes - part]) t.deepEqual(await importer.read(at, part), ramp(part, offset + at))
  await importer.write(1, new Uint8Array([0xee]))
  t.deepEqual(await importer.end(), { live: 0, resources: 0 })
  const back = new Uint8Array(2)
  raw.read(pointer + BigInt(offset), back)
  t.deepEqual(back, Uint8Array.of(offset * 13, 0xee))
}

function refuses(t: ExecutionContext, pointer: bigint, nbytes: number, code: string, says: RegExp): void {
  const before = ledger({ process: true })
  const error = t.throws(() => MemoryUSMDevice.fromPointer(pointer, nbytes, { device, allowNeighbours: true }), { message: says }) as Error & { code: string }
  t.is(error.code, `ERR_USM_IPC_${code}`)
  t.deepEqual(ledger({ process: true }), before)
}

test.afterEach((t) => t.is(ledger().live, 0))

test.serial('cuMemAlloc memory of whole blocks is shared, from any place in it', async (t) => {
  const pointer = raw.alloc(2 * BLOCK)
  await shares(t, pointer, 0, 2 * BLOCK, 'cuda')
  const inside = t.throws(() => MemoryUSMDevice.fromPointer(pointer + 4096n, 100, { device })) as Error & { code: string }
  t.is(inside.code, 'ERR_USM_IPC_NEIGHBOURS')
  await shares(t, pointer, 4097, 1000, 'cuda', { allowNeighbours: true })
  raw.free(pointer)
})

test.serial('cuMemAlloc memory that is cut from a block has neighbours', async (t) => {
  const [pointer, other] = [raw.alloc(4096), raw.alloc(4096)]
  const error = t.throws(() => MemoryUSMDevice.fromPointer(pointer, 4096, { device }), { message: /multiples of 2 MiB/ }) as Error & { code: string }
  t.is(error.code, 'ERR_USM_IPC_NEIGHBOURS')
  await shares(t, pointer, 0, 4096, 'cuda', { allowNeighbours: true })
  await shares(t, other, 100, 500, 'cuda', { allowNeighbours: true })
  raw.free(pointer)
  raw.free(other)
})

test.serial('virtual memory with a POSIX handle type is shared; without one it is not', async (t) => {
  const pointer = raw.vmmAlloc(2 * BLOCK, 1)
  await shares(t, pointer, 0, 2 * BLOCK, 'cuda-vmm')
  await shares(t, pointer, BLOCK + 5, 77, 'cuda-vmm', { allowNeighbours: true })
  raw.vmmFree(pointer, 2 * BLOCK)
  const closed = raw.vmmAlloc(BLOCK, 0)
  refuses(t, closed, BLOCK, 'NOT_SHAREABLE', /without a POSIX handle type/)
  raw.vmmFree(closed, BLOCK)
})

test.serial('memory of a pool is shared where the pool has a POSIX handle type, and has neighbours', async (t) => {
  const pool = raw.poolCreate(1)
  const [one, pointer] = [raw.poolAlloc(pool, 5000), raw.poolAlloc(pool, 70_000)]
  const error = t.throws(() => MemoryUSMDevice.fromPointer(pointer, 70_000, { device }), { message: /neighbours/ }) as Error & { code: string }
  t.is(error.code, 'ERR_USM_IPC_NEIGHBOURS')
  await shares(t, pointer, 0, 70_000, 'cuda-pool', { allowNeighbours: true })
  await shares(t, pointer, 333, 1000, 'cuda-pool', { allowNeighbours: true })
  await shares(t, one, 0, 5000, 'cuda-pool', { allowNeighbours: true })
  raw.freeAsync(pointer)
  raw.freeAsync(one)
  raw.poolDestroy(pool)
  const closed = raw.poolCreate(0)
  const unshared = raw.poolAlloc(closed, 5000)
  refuses(t, unshared, 5000, 'NOT_SHAREABLE', /stream-ordered pool.*without a POSIX handle type/)
  raw.freeAsync(unshared)
  raw.poolDestroy(closed)
})

test.serial('what CUDA does not export is refused by name before it is asked to', (t) => {
  const [managed, pinned, ordered] = [raw.allocManaged(BLOCK), raw.allocPinned(BLOCK), raw.allocAsync(BLOCK)]
  refuses(t, managed, BLOCK, 'NOT_DEVICE_MEMORY', /managed memory/)
  refuses(t, pinned, BLOCK, 'NOT_DEVICE_MEMORY', /pinned host memory/)
  refuses(t, ordered, BLOCK, 'NOT_SHAREABLE', /cuMemAllocAsync/)
  refuses(t, 0x1234000n, 4096, 'NOT_DEVICE_MEMORY', /none that the CUDA driver knows/)
  raw.free(managed)
  raw.freePinned(pinned)
  raw.freeAsync(ordered)
})

test.serial('more than the allocation has is refused', (t) => {
  const pointer = raw.alloc(BLOCK)
  refuses(t, pointer, BLOCK + 1, 'OUT_OF_BOUNDS', /has 2097152 bytes/)
  refuses(t, pointer + 100n, BLOCK - 99, 'OUT_OF_BOUNDS', /not inside the allocation/)
  raw.free(pointer)
})

test.serial('a pointer into memory of this package keeps that alive', (t) => {
  const memory = new MemoryUSMDevice(5000, { device })
  memory.fill(7)
  using adopted = MemoryUSMDevice.fromPointer(memory.pointer, 5000, { device })
  memory.close()
  const bytes = new Uint8Array(5000)
  adopted.copyTo(bytes)
  t.true(bytes.every((byte) => byte === 7))
  using handle = new IPCMemoryHandle(adopted)
  using self = IPCMemoryHandle.open(handle.toBytes(), device)
  t.is(self.nbytes, 5000)
  t.is(self.path, 'self')
})
