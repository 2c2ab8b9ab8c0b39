/** A process that opens what it exported itself: CUDA refuses that, so the memory itself is served. And what is opened twice. */
import test from 'ava'
import { IPCMemoryHandle, MemoryUSMDevice, ledger } from '../../host/index.ts'
import { cudaBackend } from '../support/backends.ts'
import { encode, hear, say, startChild } from '../support/child.ts'
import { asForeign } from '../support/forge.ts'
import type { Answer } from './children/twice_party.ts'
import { rawDriver } from './raw_driver.ts'

cudaBackend('legacy')
const raw = rawDriver()
const device = 'cuda'
const mappings = (): number => ledger({ process: true }).resources.filter(({ kind }) => kind === 'mapping').length

function first(memory: MemoryUSMDevice, offset = 0): number {
  const byte = new Uint8Array(1)
  memory.copyTo(byte, offset)
  return byte[0]!
}

test.afterEach.always((t) => t.deepEqual([ledger().live, ledger({ process: true }).resources], [0, []]))

for (const ipc of ['legacy', 'fd', 'pool'] as const) {
  test.serial(`our own memory, at its own address, and after the export and the memory were closed: ${ipc}`, (t) => {
    const memory = new MemoryUSMDevice(9000, { device, ipc })
    memory.fill(1)
    const handle = new IPCMemoryHandle(memory, { offset: 4000, nbytes: 3000 })
    const bytes = handle.toBytes()
    const opened = [IPCMemoryHandle.open(bytes, device), IPCMemoryHandle.open(bytes, device, 10)]
    for (const one of opened) t.deepEqual([one.path, one.pointer], ['self', memory.pointer + 4000n])
    t.deepEqual(opened.map(({ nbytes }) => nbytes), [3000, 10])
    t.is(mappings(), 0)
    opened[0]!.fill(2)
    t.deepEqual([3999, 4000, 6999, 7000].map((offset) => first(memory, offset)), [1, 2, 2, 1])
    handle.close()
    memory.close()
    t.is(first(opened[1]!, 9), 2, 'what is open keeps the memory')
    opened[0]!.close()
    t.is(first(opened[1]!, 9), 2)
    opened[1]!.close()
    t.like(t.throws(() => IPCMemoryHandle.open(bytes, device)), { code: 'ERR_USM_IPC_STALE_HANDLE' })
  })
}

test.serial('memory that another library of the process allocated', (t) => {
  const pointer = raw.alloc(2 << 20)
  raw.write(pointer, Uint8Array.of(5, 6, 7))
  const memory = MemoryUSMDevice.fromPointer(pointer, 2 << 20, { device })
  const handle = new IPCMemoryHandle(memory, { offset: 1, nbytes: 2 })
  const opened = IPCMemoryHandle.open(handle.toBytes(), device)
  t.deepEqual([opened.path, opened.pointer, first(opened), mappings()], ['self', pointer + 1n, 6, 0])
  for (const one of [opened, handle, memory]) one.close()
  const still = new Uint8Array(3)
  raw.read(pointer, still)
  t.deepEqual(still, Uint8Array.of(5, 6, 7), 'it is not ours to free')
  raw.free(pointer)
})

for (const ipc of ['fd', 'pool'] as const) {
  test.serial(`a foreign export is mapped once, however often it is opened: ${ipc}`, (t) => {
    using memory = new MemoryUSMDevice(9000, { device, ipc })
    memory.fill(3)
    using handle = new IPCMemoryHandle(memory)
    const foreign = asForeign(handle.toBytes())
    const open = () => IPCMemoryHandle.open(foreign, device, undefined, { descriptor: handle.descriptors[0]! })
    const one = open()
    const two = IPCMemoryHandle.open(foreign, device)
    t.deepEqual([one.path, two.path, mappings()], ['mapped', 'cached', 1])
    t.is(two.pointer, one.pointer)
    t.not(one.pointer, memory.pointer)
    one.close()
    t.deepEqual([first(two), mappings()], [3, 1])
    two.close()
    t.is(mappings(), 0)
    const again = open()
    t.is(again.path, 'mapped')
    again.close()
  })
}

test.serial('in another process', async (t) => {
  for (const ipc of ['legacy', 'fd', 'pool'] as const) {
    using memory = new MemoryUSMDevice(9000, { device, ipc })
    memory.fill(4)
    using whole = new IPCMemoryHandle(memory)
    using part = new IPCMemoryHandle(memory, { offset: 100, nbytes: 50 })
    const child = startChild(new URL('children/twice_party.ts', import.meta.url))
    await say(child.channel, { whole: encode(whole.toBytes()), part: encode(part.toBytes()) }, whole)
    const answer = await hear<Answer>(child.channel)
    await child.kill()
    t.deepEqual(answer, { paths: ['mapped', 'cached', 'cached'], distances: [0, 0, 100], mappings: [1, 1, 1, 0], bytes: [4, 4, 4], live: 0 }, ipc)
  }
})
