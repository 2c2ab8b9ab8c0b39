/** Exports: what pins, what goes stale, what is written where. */
import assert from 'node:assert/strict'
import { inspect as inspectObject } from 'node:util'
import { IPCMemoryHandle, decode, getMemHandle, inspect, ledger, openMemHandle, validate } from '../../host/index.ts'
import { toHex } from '../../host/core/index.ts'
import { refused } from '../support/refused.ts'
import { NBYTES, allocate, bytesOf, exported, pattern } from './support.ts'
import type { ContractCase } from './types.ts'

export const handles: ContractCase[] = [
  {
    name: 'an export pins its allocation: what was closed can still be opened, here too',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      shared.memory.close()
      assert.equal(ledger().allocations, 0)
      assert.equal(ledger({ process: true }).resources.length, 1)
      using mapped = IPCMemoryHandle.open(shared.bytes, backend.selector)
      assert.deepEqual(bytesOf(mapped), pattern(NBYTES))
      assert.equal(mapped.path, 'self')
    },
  },
  {
    name: 'a mapping keeps the memory after export and allocation are closed',
    smoke: true,
    run(backend) {
      const shared = exported(backend)
      using mapped = IPCMemoryHandle.open(shared.bytes, backend.selector)
      shared.handle.close()
      shared.memory.close()
      assert.deepEqual(bytesOf(mapped), pattern(NBYTES))
    },
  },
  {
    name: 'getMemHandle pins nothing: with the memory goes the handle',
    smoke: true,
    run(backend) {
      const memory = allocate(backend)
      const bytes = getMemHandle(memory)
      assert.deepEqual([ledger().allocations, ledger().exports], [1, 0])
      openMemHandle(bytes, backend.selector).close()
      memory.close()
      assert.deepEqual(ledger({ process: true }).resources, [])
      const error = refused(() => openMemHandle(bytes, backend.selector), 'HandleError', 'STALE_HANDLE', /has been freed/)
      assert.equal((error as unknown as { verdict: string }).verdict, 'stale-handle')
    },
  },
  {
    name: 'a handle is stale once export and memory are closed, although new memory took their place',
    smoke: true,
    run(backend) {
      for (let i = 0; i < 20; i++) {
        const shared = exported(backend)
        shared[Symbol.dispose]()
        using next = allocate(backend)
        next.fill(0xff)
        refused(() => IPCMemoryHandle.open(shared.bytes, backend.selector), 'HandleError', 'STALE_HANDLE', /freed/)
      }
    },
  },
  {
    name: 'memory that was opened by IPC is not exported again',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      using self = IPCMemoryHandle.open(shared.bytes, backend.selector)
      refused(() => new IPCMemoryHandle(self), 'StateError', 'IPC_MEMORY', /not exported again: the exporter hands it on/)
      refused(() => getMemHandle(self), 'StateError', 'IPC_MEMORY', /the exporter/)
      using mapped = backend.openMapped?.(shared.handle)
      if (mapped !== undefined) refused(() => getMemHandle(mapped), 'StateError', 'IPC_MEMORY', /the exporter/)
    },
  },
  {
    name: 'closed memory is not exported; a closed handle gives nothing away',
    smoke: true,
    run(backend) {
      const memory = allocate(backend)
      const handle = new IPCMemoryHandle(memory)
      memory.close()
      refused(() => new IPCMemoryHandle(memory), 'StateError', 'CLOSED', /closed/)
      const { descriptors } = handle
      handle.close()
      refused(() => handle.toBytes(), 'StateError', 'CLOSED', /this IPC handle has been closed/)
      refused(() => handle.toString(), 'StateError', 'CLOSED', /closed/)
      refused(() => `${handle}`, 'StateError', 'CLOSED', /closed/)
      refused(() => handle.descriptors, 'StateError', 'CLOSED', /closed/)
      for (const descriptor of descriptors) assert.equal(descriptor.isClosed, true)
    },
  },
  {
    name: 'only USM memory is exported',
    smoke: true,
    run() {
      for (const value of [undefined, null, {}, new Uint8Array(8), 'memory']) {
        refused(() => new IPCMemoryHandle(value as never), 'TypeError', 'INVALID_MEMORY', /made of a MemoryUSMDevice/)
      }
    },
  },
  {
    name: 'toBytes gives copies; JSON, inspect and enumeration show no byte of them',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const bytes = shared.handle.toBytes()
      bytes.fill(0)
      assert.deepEqual(shared.handle.toBytes(), shared.bytes)
      const { nonce } = decode(shared.bytes)
      const text = shared.handle.toString()
      const shown = [
        JSON.stringify(shared.handle), inspectObject(shared.handle, { showHidden: true, depth: 10 }), JSON.stringify({ ...shared.handle }),
        JSON.stringify(Object.entries(shared.handle)), JSON.stringify(shared.memory),
      ]
      for (const output of shown) {
        assert(!output.includes(nonce) && !output.includes(toHex(shared.bytes).slice(0, 64)) && !output.includes(text.slice(8, 40)), output)
      }
      assert.deepEqual(JSON.parse(shown[0]!), {
        type: 'IPCMemoryHandle', device: shared.memory.device.selector, size: shared.bytes.length, closed: false,
      })
      assert.match(shown[1]!, /^IPCMemoryHandle \{ device: .*closed: false \}$/)
    },
  },
  {
    name: 'the text form opens what the bytes open, and no other spelling does',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const text = shared.handle.toString()
      assert.match(text, /^usmipc0\.[A-Za-z0-9_-]+$/)
      {
        using mapped = IPCMemoryHandle.open(text, backend.selector)
        assert.deepEqual(bytesOf(mapped), pattern(NBYTES))
      }
      for (const wrong of ['', 'usmipc', 'usmipc1.' + text.slice(8), text.slice(8), text + '=', text + '\n', ` ${text}`, text.slice(0, 30) + '!' + text.slice(31)]) {
        const error = refused(() => IPCMemoryHandle.open(wrong, backend.selector), 'HandleError', 'NOT_AN_ENVELOPE', /usmipc0\. and base64url/)
        assert(wrong === '' || !error.message.includes(text.slice(8, 40)), 'no handle text in a message')
      }
    },
  },
  {
    name: 'envelopes come as any view of their bytes',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const padded = new Uint8Array(shared.bytes.length + 11)
      padded.set(shared.bytes, 11)
      const inShared = new Uint8Array(new SharedArrayBuffer(shared.bytes.length))
      inShared.set(shared.bytes)
      const forms: unknown[] = [
        shared.bytes, padded.subarray(11), new DataView(padded.buffer, 11), shared.bytes.slice().buffer, inShared, inShared.buffer,
      ]
      for (const form of forms) IPCMemoryHandle.open(form as Uint8Array, backend.selector).close()
      for (const wrong of [undefined, null, 7, {}, [1, 2, 3]]) {
        refused(() => IPCMemoryHandle.open(wrong as never, backend.selector), 'TypeError', 'INVALID_BYTES', /must be a Uint8Array/)
      }
    },
  },
  {
    name: 'name and array metadata travel in the envelope',
    smoke: true,
    run(backend) {
      const array = { code: 2, bits: 32, lanes: 1, shape: [8, 16] }
      using shared = exported(backend, NBYTES, { name: 'frames \u{1f680}', array })
      const envelope = decode(shared.bytes)
      assert.equal(envelope.name, 'frames \u{1f680}')
      assert.deepEqual(envelope.array, { ...array, strides: [16, 1] })
      assert.equal(envelope.nbytes, NBYTES)
      assert.equal(envelope.backend, backend.name)
      assert.equal(envelope.deviceUuid, shared.memory.device.uuid)
      assert.equal(envelope.pid, process.pid)
      assert.equal(envelope.expires, 0)
      assert.equal(inspect(shared.bytes).verdict, 'ok')
      using mapped = IPCMemoryHandle.open(shared.bytes, backend.selector)
      assert.deepEqual(bytesOf(mapped), pattern(NBYTES))
      const { name, nbytes, array: said } = mapped.describe()
      assert.deepEqual({ name, nbytes, dtype: said?.dtype, shape: said?.shape, strides: said?.strides }, {
        name: 'frames \u{1f680}', nbytes: NBYTES, dtype: 'float32', shape: [8, 16], strides: [16, 1],
      })
      using part = IPCMemoryHandle.open(shared.bytes, backend.selector, 16)
      assert.equal(part.describe().array, undefined, 'the array does not fit into a part')
    },
  },
  {
    name: 'metadata that does not fit is refused, and leaves no export behind',
    smoke: true,
    run(backend) {
      using memory = allocate(backend)
      const array = { code: 2, bits: 32, lanes: 1, shape: [NBYTES] }
      refused(() => new IPCMemoryHandle(memory, { array }), 'HandleError', 'BAD_ARRAY', /reaches beyond the shared range/)
      refused(() => new IPCMemoryHandle(memory, { array: { ...array, shape: [4], strides: [1, 1] } }), 'RangeError', 'INVALID_ARRAY', /strides has 2 entries, shape has 1/)
      for (const wrong of [{ code: 258 }, { bits: 288 }, { lanes: 65_537 }, { code: -1 }, { bits: 1.5 }, { lanes: NaN }, { shape: [0.5] }, { strides: [2 ** 53] }]) {
        refused(() => new IPCMemoryHandle(memory, { array: { ...array, shape: [4], ...wrong } }), 'RangeError', 'INVALID_ARRAY', /must be an integer from/)
      }
      for (const wrong of [{ code: '2' }, { bits: undefined }, { shape: 4 }, { shape: ['4'] }, { shape: [4n] }, { strides: null }]) {
        refused(() => new IPCMemoryHandle(memory, { array: { ...array, shape: [4], ...wrong } as never }), 'TypeError', 'INVALID_ARRAY', /must be an? (number|array of numbers)/)
      }
      refused(() => new IPCMemoryHandle(memory, { array: {} as never }), 'TypeError', 'INVALID_ARRAY', /array\.code must be a number/)
      for (const wrong of [5, null, 'f32']) {
        refused(() => new IPCMemoryHandle(memory, { array: wrong as never }), 'TypeError', 'INVALID_ARRAY', /array must be an object: .*\{ code, bits/)
      }
      refused(() => new IPCMemoryHandle(memory, { name: '' }), 'HandleError', 'BAD_NAME', /1 to 255 bytes/)
      refused(() => new IPCMemoryHandle(memory, { name: 'x'.repeat(256) }), 'HandleError', 'BAD_NAME', /1 to 255 bytes/)
      refused(() => new IPCMemoryHandle(memory, { name: 'a\nb' }), 'HandleError', 'BAD_NAME', /printable/)
      refused(() => new IPCMemoryHandle(memory, { name: '\ud800' }), 'RangeError', 'INVALID_NAME', /lone surrogate/)
      refused(() => new IPCMemoryHandle(memory, { name: 7 as never }), 'TypeError', 'INVALID_NAME', /string/)
      for (const ttl of [0, -1, 1.5, NaN, Infinity]) refused(() => new IPCMemoryHandle(memory, { ttl }), 'RangeError', 'INVALID_TTL', /milliseconds/)
      refused(() => new IPCMemoryHandle(memory, { ttl: '1' as never }), 'TypeError', 'INVALID_TTL', /number of milliseconds/)
      assert.equal(ledger().live, 1)
      assert.equal(ledger({ process: true }).claims, 1)
    },
  },
  {
    name: 'every export has a nonce of its own, and all exports of one allocation its id',
    smoke: true,
    run(backend) {
      using memory = allocate(backend)
      const [one, two] = [decode(getMemHandle(memory)), decode(getMemHandle(memory))]
      assert.notEqual(one.nonce, two.nonce)
      assert.equal(one.allocationId, two.allocationId)
      using other = allocate(backend)
      assert.notEqual(decode(getMemHandle(other)).allocationId, one.allocationId)
    },
  },
  {
    name: 'an expired export is not opened; one in time is',
    smoke: true,
    async run(backend) {
      using memory = allocate(backend)
      const lasting = getMemHandle(memory, { ttl: 3_600_000 })
      const short = getMemHandle(memory, { ttl: 1 })
      openMemHandle(lasting, backend.selector).close()
      const { expires } = decode(short)
      while (Date.now() <= expires) await new Promise((resolve) => setTimeout(resolve, 2))
      refused(() => openMemHandle(short, backend.selector), 'HandleError', 'EXPIRED', /ask the exporter for a new one/)
      assert.equal(validate(short), 'ok', 'without a clock nothing expires')
    },
  },
  {
    name: 'using closes, in reverse order',
    smoke: true,
    run(backend) {
      let kept: IPCMemoryHandle | undefined
      {
        using memory = allocate(backend)
        using handle = (kept = new IPCMemoryHandle(memory))
        using mapped = IPCMemoryHandle.open(handle.toBytes(), backend.selector)
        assert.equal(mapped.isClosed, false)
        assert.equal(ledger().live, 3)
      }
      assert.equal(kept.isClosed, true)
      assert.equal(ledger().live, 0)
    },
  },
  {
    name: 'the ledger names what is open',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      using mapped = IPCMemoryHandle.open(shared.bytes, backend.selector, 100)
      const { allocationId } = decode(shared.bytes)
      const report = ledger()
      assert.deepEqual([report.live, report.allocations, report.exports, report.mappings, report.views], [3, 1, 1, 1, 0])
      assert.deepEqual(report.records.map((r) => [r.kind, r.nbytes, r.allocationId]).sort(), [
        ['allocation', NBYTES, allocationId], ['export', NBYTES, allocationId], ['mapping', mapped.nbytes, allocationId],
      ])
      const process = ledger({ process: true })
      assert.equal(process.environments, 1)
      assert.equal(process.claims, 3)
      assert.deepEqual(process.resources, [{ kind: 'allocation', backend: backend.name, nbytes: NBYTES, allocationId, claims: 3, leases: 0 }])
    },
  },
]
