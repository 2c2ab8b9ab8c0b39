/** Views: the memory itself, under a claim of their own. */
import assert from 'node:assert/strict'
import { IPCMemoryHandle, MemoryUSMHost, MemoryUSMShared, ledger, type UsmMemory } from '../../host/index.ts'
import { collectUntil } from '../support/gc.ts'
import { counts } from '../support/counts.ts'
import { refused } from '../support/refused.ts'
import { NBYTES, allocate, bytesOf, exported, pattern, notHere } from './support.ts'
import type { ContractCase } from './types.ts'

// Whatever the allocator would reuse, it has a reason to now.
function pressure(): number {
  let sum = 0
  for (let i = 0; i < 200; i++) sum += new Uint8Array(1 << 16).fill(i)[100]!
  return sum
}

function readAndWrite(memory: UsmMemory): void {
  const view = memory.view()
  assert(view instanceof Uint8Array)
  assert.equal(view.length, NBYTES)
  view.set(pattern(NBYTES))
  assert.deepEqual(bytesOf(memory), pattern(NBYTES))
  memory.fill(8, 100, 1)
  assert.equal(view[100], 8)
  const part = memory.view(100, 10)
  assert.deepEqual([part.length, part[0], part[1]], [10, 8, pattern(1, 101)[0]])
  assert.equal(memory.view(4000).length, 96)
  assert.equal(ledger().views, 3)
}

export const views: ContractCase[] = [
  {
    name: 'a view is the memory: both ways, at an offset, of every host-addressable kind',
    smoke: true,
    collects: true,
    needs: 'hostAddressable',
    async run(backend) {
      for (const memory of [allocate(backend), new MemoryUSMHost(NBYTES, { device: backend.selector }), new MemoryUSMShared(NBYTES, { device: backend.selector })]) {
        readAndWrite(memory)
        memory.close()
        // The records of views end when their buffers are collected; the next memory counts its own.
        assert(await collectUntil(() => ledger().views === 0), 'views are collected')
      }
    },
  },
  {
    name: 'a view outlives close(), of memory and of mappings, and the memory goes with the last view',
    smoke: true,
    collects: true,
    needs: 'hostAddressable',
    async run(backend) {
      const before = counts()
      await (async () => {
        const shared = exported(backend)
        const mapped = backend.openMapped?.(shared.handle) ?? IPCMemoryHandle.open(shared.bytes, backend.selector)
        const views = [shared.memory.view(), mapped.view(16, 16)]
        shared[Symbol.dispose]()
        mapped.close()
        for (let i = 0; i < 5; i++) {
          pressure()
          await collectUntil(() => false, 2)
        }
        assert.deepEqual(views[0], pattern(NBYTES))
        assert.deepEqual(views[1], pattern(16, 16))
        views[0]!.fill(3)
        assert.equal(views[1]![0], 3, 'both are the same memory')
        assert.equal(ledger().views, 2)
        assert.equal(ledger().live, 2)
        assert(ledger({ process: true }).resources.length >= 1)
      })()
      assert(await collectUntil(() => counts().claims === before.claims && counts().live === before.live), 'views are collected')
      assert.deepEqual(counts(), before)
    },
  },
  {
    name: 'a view of a mapping with an offset begins where the range does',
    smoke: true,
    collects: true,
    needs: 'hostAddressable',
    run(backend) {
      using shared = exported(backend, NBYTES, { offset: 1000, nbytes: 100 })
      using mapped = IPCMemoryHandle.open(shared.bytes, backend.selector, 50)
      assert.deepEqual(mapped.view(), pattern(50, 1000))
      assert.deepEqual(mapped.view(49), pattern(1, 1049))
      refused(() => mapped.view(0, 51), 'RangeError', 'OUT_OF_RANGE', /do not fit into 50/)
      // The whole ArrayBuffer is the range and no neighbour.
      assert.equal(mapped.view().buffer.byteLength, 50)
    },
  },
  {
    name: 'a view keeps its memory when its buffer is transferred, until the new buffer is collected',
    smoke: true,
    collects: true,
    needs: 'hostAddressable',
    async run(backend) {
      if (!('transfer' in ArrayBuffer.prototype)) return notHere('this runtime has no ArrayBuffer.prototype.transfer')
      const before = counts()
      await (async () => {
        const memory = allocate(backend)
        memory.copyFrom(pattern(NBYTES))
        const view = memory.view()
        const moved = (view.buffer as ArrayBuffer & { transfer(): ArrayBuffer }).transfer()
        assert.equal(view.length, 0)
        memory.close()
        pressure()
        await collectUntil(() => false, 5)
        assert.deepEqual(new Uint8Array(moved), pattern(NBYTES))
      })()
      assert(await collectUntil(() => counts().claims === before.claims && counts().live === before.live), 'the transferred buffer is collected')
    },
  },
  {
    name: 'a view that does not fit is refused and leaves no claim',
    smoke: true,
    needs: 'hostAddressable',
    run(backend) {
      using memory = allocate(backend)
      refused(() => memory.view(0, NBYTES + 1), 'RangeError', 'OUT_OF_RANGE', /do not fit/)
      refused(() => memory.view(NBYTES, 1), 'RangeError', 'OUT_OF_RANGE', /do not fit/)
      refused(() => memory.view(NBYTES), 'RangeError', 'INVALID_NBYTES', /integer > 0/)
      refused(() => memory.view(-1, 1), 'RangeError', 'INVALID_OFFSET', /integer from 0/)
      refused(() => memory.view(-1), 'RangeError', 'INVALID_OFFSET', /integer from 0/)
      refused(() => memory.view(0, 1.5), 'RangeError', 'INVALID_NBYTES', /integer > 0/)
      refused(() => memory.view('0' as never, 1), 'TypeError', 'INVALID_OFFSET', /number of bytes/)
      assert.equal(ledger().live, 1)
      assert.equal(ledger({ process: true }).claims, 1)
    },
  },
  {
    name: 'device memory that the host cannot address is not viewed; host and shared memory is',
    without: 'hostAddressable',
    collects: true,
    async run(backend) {
      using shared = exported(backend)
      using mapped = backend.openMapped?.(shared.handle) ?? IPCMemoryHandle.open(shared.bytes, backend.selector)
      for (const memory of [shared.memory, mapped]) refused(() => memory.view(), 'StateError', 'NOT_HOST_ADDRESSABLE', /use copyTo\(\) and copyFrom\(\)/)
      for (const memory of [new MemoryUSMHost(NBYTES, { device: backend.selector }), new MemoryUSMShared(NBYTES, { device: backend.selector })]) {
        readAndWrite(memory)
        memory.close()
        assert(await collectUntil(() => ledger().views === 0), 'views are collected')
      }
    },
  },
]
