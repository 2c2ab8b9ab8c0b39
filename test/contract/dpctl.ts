/** What dpctl's tests ask of its IPC memory, one by one, under our names. */
import assert from 'node:assert/strict'
import {
  IPCMemoryHandle, MemoryIPCDevice, MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared, closeMemHandle, getMemHandle, openMemHandle,
} from '../../host/index.ts'
import { counts } from '../support/counts.ts'
import { collectUntil } from '../support/gc.ts'
import { refused } from '../support/refused.ts'
import { NBYTES, allocate, bytesOf, exported, pattern } from './support.ts'
import type { ContractCase } from './types.ts'

export const dpctl: ContractCase[] = [
  {
    name: 'dpctl: a handle is got from device memory',
    smoke: true,
    run(backend) {
      using memory = allocate(backend)
      using handle = new IPCMemoryHandle(memory)
      assert(handle.toBytes().length > 0)
      assert(getMemHandle(memory).length > 0)
      assert.equal(handle.device, memory.device)
      assert.equal(IPCMemoryHandle.isAvailable(memory.device), true)
    },
  },
  {
    name: 'dpctl: a handle of shared memory is a TypeError',
    smoke: true,
    run(backend) {
      using memory = new MemoryUSMShared(NBYTES, { device: backend.selector })
      refused(() => new IPCMemoryHandle(memory as never), 'TypeError', 'NOT_EXPORTABLE', /USM device memory, not for USM shared/)
      refused(() => getMemHandle(memory as never), 'TypeError', 'NOT_EXPORTABLE', /USM device memory/)
    },
  },
  {
    name: 'dpctl: a handle of host memory is a TypeError',
    smoke: true,
    run(backend) {
      using memory = new MemoryUSMHost(NBYTES, { device: backend.selector })
      refused(() => new IPCMemoryHandle(memory as never), 'TypeError', 'NOT_EXPORTABLE', /USM device memory, not for USM host/)
    },
  },
  {
    name: 'dpctl: open gives MemoryIPCDevice, which is MemoryUSMDevice, with nbytes',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      using mapped = IPCMemoryHandle.open(shared.bytes, backend.selector, NBYTES)
      assert(mapped instanceof MemoryIPCDevice && mapped instanceof MemoryUSMDevice)
      assert.equal(mapped.nbytes, NBYTES)
      assert.equal(mapped.usmType, 'device')
      assert.notEqual(mapped.pointer, 0n)
      assert.deepEqual(bytesOf(mapped), pattern(NBYTES))
      using again = openMemHandle(shared.bytes, shared.memory.device)
      assert(again instanceof MemoryIPCDevice)
    },
  },
  {
    name: 'dpctl: closing a mapping makes its pointer null and its nbytes 0',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const mapped = IPCMemoryHandle.open(shared.bytes, backend.selector, NBYTES)
      IPCMemoryHandle.closeMapping(mapped)
      assert.equal(mapped.pointer, 0n)
      assert.equal(mapped.nbytes, 0)
      assert.equal(mapped.path, undefined)
    },
  },
  {
    name: 'dpctl: closing a mapping is idempotent',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const mapped = IPCMemoryHandle.open(shared.bytes, backend.selector, NBYTES)
      using other = IPCMemoryHandle.open(shared.bytes, backend.selector, NBYTES)
      for (let i = 0; i < 3; i++) IPCMemoryHandle.closeMapping(mapped)
      mapped.close()
      closeMemHandle(mapped)
      assert.equal(other.isClosed, false, 'closing again ended nobody else\'s claim')
      assert.deepEqual(bytesOf(other), pattern(NBYTES))
    },
  },
  {
    name: 'dpctl: closeMapping refuses non-IPC memory by name',
    smoke: true,
    run(backend) {
      using memory = allocate(backend)
      using host = new MemoryUSMHost(NBYTES, { device: backend.selector })
      refused(() => IPCMemoryHandle.closeMapping(memory), 'StateError', 'NOT_IPC', /non-IPC.*only what IPCMemoryHandle\.open gave/)
      refused(() => closeMemHandle(host as never), 'StateError', 'NOT_IPC', /non-IPC/)
      refused(() => closeMemHandle({} as never), 'TypeError', 'INVALID_MEMORY', /takes a MemoryIPCDevice/)
      assert.equal(memory.isClosed, false)
    },
  },
  {
    name: 'dpctl: device, shared and host memory is not IPC memory; mapped memory is',
    smoke: true,
    run(backend) {
      using device = allocate(backend)
      using shared = new MemoryUSMShared(NBYTES, { device: backend.selector })
      using host = new MemoryUSMHost(NBYTES, { device: backend.selector })
      for (const memory of [device, shared, host]) assert(!(memory instanceof MemoryIPCDevice))
      assert.deepEqual([device.usmType, shared.usmType, host.usmType], ['device', 'shared', 'host'])
      using handle = new IPCMemoryHandle(device)
      using mapped = IPCMemoryHandle.open(handle.toBytes(), backend.selector)
      assert(mapped instanceof MemoryIPCDevice)
    },
  },
  {
    name: 'dpctl: the type stays after closing',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const mapped = IPCMemoryHandle.open(shared.bytes, backend.selector, NBYTES)
      mapped.close()
      assert(mapped instanceof MemoryIPCDevice)
      assert.equal(mapped.usmType, 'device')
      assert.equal(mapped.device, shared.memory.device)
    },
  },
  {
    name: 'dpctl: isClosed of memory, mapping and handle',
    smoke: true,
    run(backend) {
      const shared = exported(backend)
      const mapped = IPCMemoryHandle.open(shared.bytes, backend.selector, NBYTES)
      for (const thing of [mapped, shared.handle, shared.memory]) {
        assert.equal(thing.isClosed, false)
        thing.close()
        assert.equal(thing.isClosed, true)
        thing.close()
        assert.equal(thing.isClosed, true)
      }
    },
  },
  {
    name: 'dpctl: the source memory outlives its mapping',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const mapped = IPCMemoryHandle.open(shared.bytes, backend.selector, NBYTES)
      mapped.fill(7)
      mapped.close()
      assert.deepEqual(bytesOf(shared.memory), new Uint8Array(NBYTES).fill(7))
      shared.memory.copyFrom(new Uint8Array([1, 2, 3]))
      assert.deepEqual(bytesOf(shared.memory, 0, 4), new Uint8Array([1, 2, 3, 7]))
    },
  },
  {
    name: 'dpctl: a mapping that is dropped is collected, and its claim with it',
    smoke: true,
    collects: true,
    async run(backend) {
      using shared = exported(backend)
      const before = counts()
      ;(() => {
        for (let i = 0; i < 10; i++) IPCMemoryHandle.open(shared.bytes, backend.selector, NBYTES)
      })()
      assert.equal(counts().claims, before.claims + 10)
      assert(await collectUntil(() => counts().claims === before.claims), 'dropped mappings are collected')
      assert.deepEqual(counts(), before)
      assert.deepEqual(bytesOf(shared.memory), pattern(NBYTES))
    },
  },
  {
    name: 'dpctl: dropping a mapping after closing it ends nothing twice',
    smoke: true,
    collects: true,
    async run(backend) {
      using shared = exported(backend)
      using kept = IPCMemoryHandle.open(shared.bytes, backend.selector, NBYTES)
      const before = counts()
      let collected = 0
      const registry = new FinalizationRegistry(() => collected++)
      ;(() => {
        for (let i = 0; i < 10; i++) {
          const mapped = IPCMemoryHandle.open(shared.bytes, backend.selector, NBYTES)
          registry.register(mapped, undefined)
          mapped.close()
        }
      })()
      assert(await collectUntil(() => collected >= 9), `only ${collected} of 10 were collected`)
      assert.deepEqual(counts(), before)
      assert.deepEqual(bytesOf(kept), pattern(NBYTES))
    },
  },
  {
    name: 'dpctl: several opens of one handle are independent claims',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const mappings = Array.from({ length: 4 }, () => IPCMemoryHandle.open(shared.bytes, backend.selector, NBYTES))
      mappings.forEach((mapped, i) => {
        mapped.close()
        for (const rest of mappings.slice(i + 1)) assert.deepEqual(bytesOf(rest, 0, 64), pattern(64))
      })
    },
  },
]
