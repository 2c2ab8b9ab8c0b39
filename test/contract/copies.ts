/** Copying in and out: bounds, kinds of buffers, asynchronous copies. */
import assert from 'node:assert/strict'
import { MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared } from '../../host/index.ts'
import { refused, rejected } from '../support/refused.ts'
import { NBYTES, allocate, bytesOf, pattern } from './support.ts'
import type { ContractCase } from './types.ts'

const LARGE = 5 * (1 << 20) + 12_345

function detached(nbytes: number): Uint8Array {
  const bytes = new Uint8Array(nbytes)
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] })
  return bytes
}

export const copies: ContractCase[] = [
  {
    name: 'bytes go in and come out, at every offset and from every kind of buffer',
    smoke: true,
    run(backend) {
      for (const Memory of [MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared]) {
        using memory = new Memory(NBYTES, { device: backend.selector })
        assert.deepEqual(bytesOf(memory), new Uint8Array(NBYTES), 'fresh memory is zero')
        assert.equal(memory.copyFrom(pattern(100), 7), 100)
        assert.deepEqual(bytesOf(memory, 7, 100), pattern(100))
        const sources = [
          new Uint16Array([1, 2]), new DataView(new ArrayBuffer(16), 3, 4), new Float64Array([Math.PI]), new ArrayBuffer(8),
          new SharedArrayBuffer(8), new Uint8Array(new SharedArrayBuffer(8), 2, 3), pattern(64).subarray(5, 9),
        ]
        for (const source of sources) assert.equal(memory.copyFrom(source, 50), source.byteLength)
        const inShared = new Uint8Array(new SharedArrayBuffer(16))
        inShared.set(pattern(16))
        memory.copyFrom(inShared, NBYTES - 16)
        const outShared = new Uint8Array(new SharedArrayBuffer(16))
        assert.equal(memory.copyTo(outShared, NBYTES - 16), 16)
        assert.deepEqual([...outShared], [...pattern(16)])
        const buffer = new ArrayBuffer(16)
        memory.copyTo(buffer, NBYTES - 16)
        assert.deepEqual(new Uint8Array(buffer), pattern(16))
        assert.equal(memory.copyFrom(new Uint8Array(0), NBYTES), 0)
        assert.equal(memory.copyTo(new Uint8Array(0), NBYTES), 0)
      }
    },
  },
  {
    name: 'what leaves the memory is refused, and not copied in part',
    smoke: true,
    run(backend) {
      using memory = allocate(backend)
      const full = new Uint8Array(NBYTES + 1).fill(9)
      refused(() => memory.copyFrom(full), 'RangeError', 'OUT_OF_RANGE', /4097 bytes at offset 0 do not fit into 4096/)
      refused(() => memory.copyFrom(full.subarray(0, 2), NBYTES - 1), 'RangeError', 'OUT_OF_RANGE', /2 bytes at offset 4095/)
      refused(() => memory.copyFrom(full.subarray(0, 1), Number.MAX_SAFE_INTEGER), 'RangeError', 'OUT_OF_RANGE', /do not fit/)
      assert.deepEqual(bytesOf(memory), new Uint8Array(NBYTES))
      const target = new Uint8Array(NBYTES + 1).fill(3)
      refused(() => memory.copyTo(target), 'RangeError', 'OUT_OF_RANGE', /do not fit/)
      assert.deepEqual(target, new Uint8Array(NBYTES + 1).fill(3))
      for (const offset of [-1, 0.5, NaN, Infinity, 2 ** 53]) {
        refused(() => memory.copyFrom(new Uint8Array(1), offset), 'RangeError', 'INVALID_OFFSET', /integer from 0/)
        refused(() => memory.copyTo(new Uint8Array(1), offset), 'RangeError', 'INVALID_OFFSET', /integer from 0/)
        refused(() => memory.fill(0, offset, 1), 'RangeError', 'INVALID_OFFSET', /integer from 0/)
      }
      for (const offset of ['1', null, 1n, {}]) {
        refused(() => memory.copyFrom(new Uint8Array(1), offset as never), 'TypeError', 'INVALID_OFFSET', /number of bytes/)
        refused(() => memory.copyTo(new Uint8Array(1), offset as never), 'TypeError', 'INVALID_OFFSET', /number of bytes/)
      }
      for (const source of [undefined, null, 'bytes', 7, [1, 2], {}]) {
        refused(() => memory.copyFrom(source as never), 'TypeError', 'INVALID_BYTES', /must be a Uint8Array/)
        refused(() => memory.copyTo(source as never), 'TypeError', 'INVALID_BYTES', /must be a Uint8Array/)
      }
    },
  },
  {
    name: 'fill sets the bytes that it is asked to, and only those',
    smoke: true,
    run(backend) {
      using memory = allocate(backend)
      memory.fill(0xff)
      memory.fill(1, 4000)
      memory.fill(2, 10, 5)
      const expected = new Uint8Array(NBYTES).fill(0xff).fill(1, 4000).fill(2, 10, 15)
      assert.deepEqual(bytesOf(memory), expected)
      for (const value of [-1, 256, 1.5, NaN, '1', null, undefined]) {
        refused(() => memory.fill(value as never), 'RangeError', 'INVALID_BYTE', /byte from 0 to 255/)
      }
      refused(() => memory.fill(0, 0, NBYTES + 1), 'RangeError', 'OUT_OF_RANGE', /do not fit/)
      refused(() => memory.fill(0, 1, NBYTES), 'RangeError', 'OUT_OF_RANGE', /do not fit/)
      refused(() => memory.fill(0, NBYTES + 1), 'RangeError', 'OUT_OF_RANGE', /do not fit/)
      refused(() => memory.fill(0, -1), 'RangeError', 'INVALID_OFFSET', /integer from 0/)
      refused(() => memory.fill(0, 0, 0), 'RangeError', 'INVALID_NBYTES', /integer > 0/)
      assert.deepEqual(bytesOf(memory), expected)
    },
  },
  {
    name: 'memory is copied to memory, also onto itself and between mappings of one allocation',
    smoke: true,
    run(backend) {
      using one = allocate(backend)
      using two = allocate(backend, 2 * NBYTES)
      one.copyFrom(pattern(NBYTES))
      assert.equal(two.copyFrom(one, 100), NBYTES)
      assert.deepEqual(bytesOf(two, 100, NBYTES), pattern(NBYTES))
      assert.equal(one.copyFrom(one), NBYTES)
      assert.deepEqual(bytesOf(one), pattern(NBYTES))
      refused(() => one.copyFrom(two), 'RangeError', 'OUT_OF_RANGE', /8192 bytes at offset 0 do not fit into 4096/)
      using closed = allocate(backend)
      closed.close()
      refused(() => one.copyFrom(closed), 'StateError', 'CLOSED', /the source: this memory is closed/)
    },
  },
  {
    name: 'closed memory is neither read nor written',
    smoke: true,
    async run(backend) {
      const memory = allocate(backend)
      memory.close()
      const byte = new Uint8Array(1)
      for (const action of [
        () => memory.copyFrom(byte), () => memory.copyTo(byte), () => memory.fill(1, 0, 1), () => memory.view(0, 1),
        () => memory.copyFrom(new Uint8Array(0)), () => memory.copyTo(new Uint8Array(0)),
      ]) refused(action, 'StateError', 'CLOSED', /this memory is closed/)
      await rejected(memory.copyFromAsync(byte), 'StateError', 'CLOSED', /this memory is closed/)
      await rejected(memory.copyToAsync(byte), 'StateError', 'CLOSED', /this memory is closed/)
      await rejected(memory.fillAsync(1, 0, 1), 'StateError', 'CLOSED', /this memory is closed/)
    },
  },
  {
    name: 'detached buffers are empty, not memory of somebody else\'s',
    smoke: true,
    async run(backend) {
      using memory = allocate(backend)
      memory.fill(5)
      assert.equal(memory.copyFrom(detached(64)), 0)
      assert.equal(memory.copyTo(detached(64)), 0)
      assert.equal(await memory.copyFromAsync(detached(64)), 0)
      assert.deepEqual(bytesOf(memory), new Uint8Array(NBYTES).fill(5))
    },
  },
  {
    name: 'asynchronous copies give and take all bytes, with progress, while the event loop runs',
    smoke: true,
    async run(backend) {
      using memory = allocate(backend, LARGE)
      const source = pattern(LARGE)
      const progress: number[] = []
      let turns = 0
      const counting = setInterval(() => turns++, 0)
      const done = await memory.copyFromAsync(source, 0, {
        onProgress(bytes, total) {
          assert.equal(total, LARGE)
          progress.push(bytes)
        },
      })
      clearInterval(counting)
      assert.equal(done, LARGE)
      assert(progress.length >= 5 && progress.at(-1) === LARGE, String(progress))
      assert.deepEqual(progress, progress.toSorted((a, b) => a - b))
      const target = new Uint8Array(LARGE)
      assert.equal(await memory.copyToAsync(target), LARGE)
      assert.equal(Buffer.compare(target, source), 0)
      await memory.fillAsync(4, 10, 10)
      assert.deepEqual(bytesOf(memory, 9, 12), new Uint8Array([source[9]!, ...new Uint8Array(10).fill(4), source[20]!]))
    },
  },
  {
    name: 'asynchronous copies check before they start',
    smoke: true,
    async run(backend) {
      using memory = allocate(backend)
      await rejected(memory.copyFromAsync(new Uint8Array(NBYTES + 1)), 'RangeError', 'OUT_OF_RANGE', /do not fit/)
      await rejected(memory.copyToAsync(new Uint8Array(2), NBYTES - 1), 'RangeError', 'OUT_OF_RANGE', /do not fit/)
      await rejected(memory.copyFromAsync(new Uint8Array(1), -1), 'RangeError', 'INVALID_OFFSET', /integer from 0/)
      await rejected(memory.copyFromAsync('x' as never), 'TypeError', 'INVALID_BYTES', /must be a Uint8Array/)
      await rejected(memory.fillAsync(256), 'RangeError', 'INVALID_BYTE', /byte from 0 to 255/)
      await rejected(memory.copyToAsync(new Uint8Array(1), 0, { onprogress() {} } as never), 'TypeError', 'UNKNOWN_OPTION', /no option "onprogress"; it has signal, onProgress/)
    },
  },
  {
    name: 'an aborted copy ends with the signal\'s reason',
    smoke: true,
    async run(backend) {
      using memory = allocate(backend, LARGE)
      const reason = new Error('enough')
      await assert.rejects(memory.copyFromAsync(pattern(LARGE), 0, { signal: AbortSignal.abort(reason) }), reason)
      assert.deepEqual(bytesOf(memory, 0, 16), new Uint8Array(16), 'nothing was copied')
      const controller = new AbortController()
      let progress = 0
      const copy = memory.copyToAsync(new Uint8Array(LARGE), 0, {
        signal: controller.signal,
        onProgress(bytes) {
          progress = bytes
          if (bytes >= 2 << 20) controller.abort(reason)
        },
      })
      await assert.rejects(copy, reason)
      assert(progress >= 2 << 20 && progress < LARGE, String(progress))
      await assert.rejects(memory.copyToAsync(new Uint8Array(4), 0, { signal: AbortSignal.abort() }), { name: 'AbortError' })
    },
  },
  {
    name: 'memory that is closed, or a buffer that is detached, in the middle of a copy ends it with an error',
    smoke: true,
    async run(backend) {
      const memory = allocate(backend, LARGE)
      const closing = memory.copyToAsync(new Uint8Array(LARGE))
      memory.close()
      await rejected(closing, 'StateError', 'CLOSED', /this memory is closed/)
      using other = allocate(backend, LARGE)
      const bytes = new Uint8Array(LARGE)
      const detaching = other.copyFromAsync(bytes)
      structuredClone(bytes.buffer, { transfer: [bytes.buffer] })
      await assert.rejects(detaching, TypeError)
    },
  },
]
