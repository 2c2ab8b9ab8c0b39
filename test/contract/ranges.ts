/** Sizes and ranges: narrowed, never widened. */
import assert from 'node:assert/strict'
import { IPCMemoryHandle, MemoryUSMDevice, MemoryUSMHost, decode, getMemHandle } from '../../host/index.ts'
import { refused } from '../support/refused.ts'
import { NBYTES, allocate, bytesOf, exported, pattern } from './support.ts'
import type { ContractCase } from './types.ts'

const OUT_OF_RANGE = [0, -1, NaN, 2 ** 53, 1.5, Infinity, -Infinity, -0]
const WRONG_TYPE = ['4096', null, {}, true, 4096n, [4096]]

const HUGE: Partial<Record<string, [code: string, says: RegExp, result: RegExp]>> = {
  host: ['SYSTEM_CALL_FAILED', /bytes were asked for/, /^ENOMEM$/],
  level_zero: ['DRIVER_CALL_FAILED', /zeMemAllocDevice failed/, /^ZE_RESULT_ERROR_(OUT_OF_DEVICE_MEMORY|UNSUPPORTED_SIZE)$/],
  sycl: ['DRIVER_CALL_FAILED', /malloc_device/, /./],
  cuda: ['DRIVER_CALL_FAILED', /cuMem\w+ failed.*not this much memory free/, /^CUDA_ERROR_OUT_OF_MEMORY$/],
}

export const ranges: ContractCase[] = [
  {
    name: 'sizes that are no positive safe integer are refused where memory is made',
    smoke: true,
    run(backend) {
      for (const Memory of [MemoryUSMDevice, MemoryUSMHost]) {
        for (const nbytes of OUT_OF_RANGE) {
          refused(() => new Memory(nbytes, { device: backend.selector }), 'RangeError', 'INVALID_NBYTES', /integer > 0 and at most 2\^53-1/)
        }
        for (const nbytes of [...WRONG_TYPE, undefined]) {
          refused(() => new Memory(nbytes as never, { device: backend.selector }), 'TypeError', 'INVALID_NBYTES', /must be a number of bytes/)
        }
      }
    },
  },
  {
    name: 'a size that no machine has is refused by name, and leaves nothing',
    smoke: true,
    run(backend) {
      const [code, says, result] = HUGE[backend.name]!
      const error = refused(() => allocate(backend, Number.MAX_SAFE_INTEGER), 'DriverError', code, says)
      assert.match((error as unknown as { result: string }).result, result)
    },
  },
  {
    name: 'sizes that are no positive safe integer are refused at open',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      for (const nbytes of OUT_OF_RANGE) {
        refused(() => IPCMemoryHandle.open(shared.bytes, backend.selector, nbytes), 'RangeError', 'INVALID_NBYTES', /integer > 0/)
      }
      for (const nbytes of WRONG_TYPE) {
        refused(() => IPCMemoryHandle.open(shared.bytes, backend.selector, nbytes as never), 'TypeError', 'INVALID_NBYTES', /must be a number/)
      }
    },
  },
  {
    name: 'nbytes narrows the range from its beginning, never widens it',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      for (const nbytes of [1, 100, NBYTES - 1, NBYTES]) {
        using mapped = IPCMemoryHandle.open(shared.bytes, backend.selector, nbytes)
        assert.equal(mapped.nbytes, nbytes)
        assert.deepEqual(bytesOf(mapped), pattern(nbytes))
        refused(() => mapped.copyTo(new Uint8Array(nbytes + 1)), 'RangeError', 'OUT_OF_RANGE', /do not fit into/)
        refused(() => mapped.copyTo(new Uint8Array(1), nbytes), 'RangeError', 'OUT_OF_RANGE', /do not fit into/)
      }
      for (const nbytes of [NBYTES + 1, 2 * NBYTES, Number.MAX_SAFE_INTEGER]) {
        refused(() => IPCMemoryHandle.open(shared.bytes, backend.selector, nbytes), 'HandleError', 'NBYTES_BEYOND_RANGE', /narrow the range, never widen it/)
      }
    },
  },
  {
    name: 'an interior range is what is shared: its bytes, its size, its pointer',
    smoke: true,
    run(backend) {
      using memory = allocate(backend)
      memory.copyFrom(pattern(NBYTES))
      for (const [offset, nbytes] of [[0, 1], [1, 1], [513, 100], [4095, 1], [0, 4096]] as const) {
        const bytes = getMemHandle(memory, { offset, nbytes })
        assert.deepEqual([decode(bytes).offset, decode(bytes).nbytes, decode(bytes).allocationSize], [offset, nbytes, NBYTES])
        using mapped = IPCMemoryHandle.open(bytes, backend.selector)
        assert.equal(mapped.nbytes, nbytes)
        assert.equal(mapped.pointer, memory.pointer + BigInt(offset))
        assert.deepEqual(bytesOf(mapped), pattern(nbytes, offset))
        refused(() => IPCMemoryHandle.open(bytes, backend.selector, nbytes + 1), 'HandleError', 'NBYTES_BEYOND_RANGE', /never widen/)
      }
    },
  },
  {
    name: 'an interior range is written through, and nothing beside it',
    smoke: true,
    run(backend) {
      using memory = allocate(backend)
      using mapped = IPCMemoryHandle.open(getMemHandle(memory, { offset: 1000, nbytes: 10 }), backend.selector)
      mapped.fill(0xee)
      mapped.copyFrom(new Uint8Array([1, 2]), 8)
      const expected = new Uint8Array(NBYTES)
      expected.fill(0xee, 1000, 1008)
      expected.set([1, 2], 1008)
      assert.deepEqual(bytesOf(memory), expected)
      refused(() => mapped.copyFrom(new Uint8Array(3), 8), 'RangeError', 'OUT_OF_RANGE', /3 bytes at offset 8 do not fit into 10/)
      refused(() => mapped.fill(1, 0, 11), 'RangeError', 'OUT_OF_RANGE', /do not fit into 10/)
    },
  },
  {
    name: 'an offset without nbytes shares what follows it',
    smoke: true,
    run(backend) {
      using shared = exported(backend, NBYTES, { offset: 4000 })
      using mapped = IPCMemoryHandle.open(shared.bytes, backend.selector)
      assert.deepEqual(bytesOf(mapped), pattern(96, 4000))
    },
  },
  {
    name: 'ranges that leave the memory are not exported',
    smoke: true,
    run(backend) {
      using memory = allocate(backend)
      for (const [offset, nbytes] of [[0, NBYTES + 1], [1, NBYTES], [NBYTES - 1, 2], [0, Number.MAX_SAFE_INTEGER]] as const) {
        refused(() => getMemHandle(memory, { offset, nbytes }), 'RangeError', 'OUT_OF_RANGE', /do not fit into 4096 bytes/)
      }
      refused(() => getMemHandle(memory, { offset: NBYTES + 1 }), 'RangeError', 'OUT_OF_RANGE', /do not fit/)
      refused(() => getMemHandle(memory, { offset: NBYTES }), 'RangeError', 'INVALID_NBYTES', /integer > 0/)
      for (const offset of [-1, 0.5, NaN, 2 ** 53]) {
        refused(() => getMemHandle(memory, { offset }), 'RangeError', 'INVALID_OFFSET', /integer from 0/)
      }
      refused(() => getMemHandle(memory, { offset: '0' as never }), 'TypeError', 'INVALID_OFFSET', /number of bytes/)
      refused(() => getMemHandle(memory, { nbytes: 0 }), 'RangeError', 'INVALID_NBYTES', /integer > 0/)
    },
  },
]
