/** Raw handles of Level Zero and SYCL: what other programs of those runtimes make and take. */
import assert from 'node:assert/strict'
import { IPCMemoryHandle, MemoryUSMDevice, MemoryUSMHost, decode, ledger, type OpenVendorOptions } from '../../host/index.ts'
import type { LayoutName } from '../../host/core/index.ts'
import { openDescriptors } from '../support/counts.ts'
import { asForeign, forged, handleAt } from '../support/forge.ts'
import { collectUntil } from '../support/gc.ts'
import { refused } from '../support/refused.ts'
import { unchanged, unmapped } from '../support/unchanged.ts'
import { NBYTES, allocate, bytesOf, exported, pattern, type Exported } from './support.ts'
import type { BackendUnderTest, ContractCase } from './types.ts'

const SIZES: Partial<Record<LayoutName, number>> = {
  'level-zero-classic': 64, 'level-zero-opaque': 64, 'sycl-umf-level-zero-v1': 108, 'sycl-umf-level-zero-v2': 120,
}

interface Raw {
  bytes: Uint8Array
  layout: LayoutName
  isSycl: boolean
  /** Offset of the Level Zero handle in it. */
  levelZero: number
}

function raw(shared: Exported): Raw {
  const { layout } = decode(shared.bytes)
  const bytes = shared.handle.toBytes({ format: 'vendor' })
  const isSycl = layout.startsWith('sycl')
  return { bytes, layout, isSycl, levelZero: bytes.length - 64 }
}

const open = (backend: BackendUnderTest, bytes: Uint8Array, nbytes: number, options: OpenVendorOptions) => () =>
  IPCMemoryHandle.openVendor(bytes, backend.selector, nbytes, options)

interface Fault {
  what: string
  code: string
  only?: 'sycl' | 'opaque' | 'classic'
  change(view: DataView, levelZero: number): void
}

const FAULTS: Fault[] = [
  { what: 'a negative descriptor number', code: 'HANDLE_NEGATIVE_FD', change: (v, z) => v.setInt32(z, -1, true) },
  { what: 'a descriptor number above 32 bits', code: 'HANDLE_PADDING', change: (v, z) => v.setUint32(z + 4, 1, true) },
  { what: 'bits in the classic padding', code: 'HANDLE_PADDING', only: 'classic', change: (v, z) => v.setUint8(z + 63, 1) },
  { what: 'an unknown memory type', code: 'HANDLE_UNKNOWN_TYPE', only: 'classic', change: (v, z) => v.setUint8(z + 16, 99) },
  { what: 'an unknown handle type', code: 'HANDLE_UNKNOWN_TYPE', only: 'opaque', change: (v, z) => v.setUint8(z + 20, 9) },
  { what: 'no pid', code: 'HANDLE_BAD_PID', only: 'opaque', change: (v, z) => v.setInt32(z + 16, 0, true) },
  { what: 'two pids that differ', code: 'HANDLE_PIDS_DIFFER', only: 'sycl', change: (v) => v.setInt32(40, v.getInt32(40, true) ^ 1, true) },
  { what: 'a negative pid', code: 'HANDLE_BAD_PID', only: 'sycl', change: (v) => v.setInt32(16, -5, true) },
  { what: 'an empty base allocation', code: 'HANDLE_ZERO_SIZE', only: 'sycl', change: (v) => v.setBigUint64(24, 0n, true) },
  { what: 'an offset beyond the base size', code: 'HANDLE_OFFSET_OUTSIDE', only: 'sycl', change: (v) => v.setBigUint64(32, BigInt(NBYTES), true) },
]

export const vendor: ContractCase[] = [
  {
    name: 'a handle of the form that this process\'s driver does not read is refused before it sees it',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const { bytes, layout, isSycl, levelZero } = raw(shared)
      const descriptor = shared.handle.descriptors[0]!
      const other = bytes.slice()
      const view = new DataView(other.buffer)
      const isOpaque = view.getUint32(levelZero + 16, true) !== 0
      other.fill(0, levelZero + 16)
      if (!isOpaque) view.setUint32(levelZero + 16, process.pid, true)
      if (!isOpaque) view.setUint8(levelZero + 21, 1)
      const named = isSycl ? layout : isOpaque ? 'level-zero-classic' : 'level-zero-opaque'
      unmapped(() => refused(open(backend, other, NBYTES, { layout: named, descriptor }), 'HandleError', 'WRONG_HANDLE_FORM', /with (a driver of the exporter's kind|drivers of one kind)/))
    },
  },
  {
    smoke: true,
    name: 'a vendor handle has the runtime\'s own size, and opens with layout, size and descriptor; what nobody checked is said',
    run(backend) {
      using shared = exported(backend)
      const { bytes, layout } = raw(shared)
      assert.equal(bytes.length, SIZES[layout])
      assert.deepEqual(bytes, decode(shared.bytes).handle)
      const descriptor = shared.handle.descriptors[0]!
      using mapped = IPCMemoryHandle.openVendor(bytes, backend.selector, 100, { layout, offset: 1000, descriptor })
      assert.deepEqual(bytesOf(mapped), pattern(100, 1000))
      assert.equal(mapped.path, 'mapped')
      for (const what of ['integrity', 'authenticity', 'liveness', 'the descriptor']) {
        assert(mapped.unchecked.some((reason) => reason.startsWith(what)), what)
      }
      using again = IPCMemoryHandle.openVendor(bytes, backend.selector, NBYTES, { layout, descriptor })
      assert.notEqual(again.pointer, mapped.pointer, 'a raw handle says no identity: each open is a mapping of its own')
      again.fill(9)
      assert.deepEqual(bytesOf(mapped), new Uint8Array(100).fill(9))
      assert.equal(ledger().mappings, 2)
      refused(() => new IPCMemoryHandle(again), 'StateError', 'IPC_MEMORY', /not exported again/)
    },
  },
  {
    smoke: true,
    name: 'a SYCL handle of an interior range says where it begins',
    run(backend) {
      using shared = exported(backend, NBYTES, { offset: 512, nbytes: 100 })
      const { bytes, layout, isSycl } = raw(shared)
      const descriptor = shared.handle.descriptors[0]!
      using mapped = IPCMemoryHandle.openVendor(bytes, backend.selector, 100, { layout, descriptor, ...(isSycl ? {} : { offset: 512 }) })
      assert.deepEqual(bytesOf(mapped), pattern(100, 512))
    },
  },
  {
    smoke: true,
    name: 'raw handles with structural faults are refused before mapping, each by name',
    run(backend) {
      using shared = exported(backend)
      const { bytes, layout, isSycl, levelZero } = raw(shared)
      const descriptor = shared.handle.descriptors[0]!
      const opaque = new DataView(bytes.buffer).getUint32(levelZero + 16, true) !== 0
      for (const { what, code, only, change } of FAULTS) {
        if (only === 'sycl' ? !isSycl : only === 'opaque' ? !opaque || isSycl : only === 'classic' ? opaque || isSycl : false) continue
        const bad = bytes.slice()
        change(new DataView(bad.buffer), levelZero)
        assert.doesNotThrow(() => unmapped(() => refused(open(backend, bad, NBYTES, { layout, descriptor }), 'HandleError', code, /./)), what)
      }
      for (const bad of [bytes.subarray(0, -1), Uint8Array.of(...bytes, 0), new Uint8Array(0)]) {
        unmapped(() => refused(open(backend, bad, NBYTES, { layout, descriptor }), 'HandleError', 'BAD_HANDLE_LENGTH', /length is not its layout's.* were given; .* has (64|108|120) bytes/))
      }
      unmapped(() => refused(open(backend, shared.bytes, NBYTES, { layout, descriptor }), 'HandleError', 'BAD_HANDLE_LENGTH', /use IPCMemoryHandle\.open/))
      const other = layout.endsWith('v1') ? 'sycl-umf-level-zero-v2' : 'sycl-umf-level-zero-v1'
      if (isSycl) unmapped(() => refused(open(backend, bytes, NBYTES, { layout: other, descriptor }), 'HandleError', 'BAD_HANDLE_LENGTH', /length/))
      if (isSycl) unmapped(() => refused(open(backend, bytes, NBYTES + 1, { layout, descriptor }), 'RangeError', 'OUT_OF_RANGE', /do not fit/))
      unmapped(() => refused(open(backend, new Uint8Array(64), 1, { layout: 'cuda' }), 'HandleError', 'WRONG_BACKEND', /not opened by a/))
      unmapped(() => refused(open(backend, bytes, NBYTES, { layout }), 'HandleError', 'DESCRIPTOR_MISSING', /must come beside it/))
    },
  },
  {
    name: 'a raw handle that names this very process fetches nothing of it',
    run(backend) {
      using shared = exported(backend)
      const { bytes, layout } = raw(shared)
      const fetch = open(backend, bytes, NBYTES, { layout, allowPidfd: true })
      if (layout === 'level-zero-classic') unchanged(() => refused(fetch, 'TypeError', 'INVALID_OPTIONS', /does not say whose it is/))
      else unchanged(() => refused(fetch, 'HandleError', 'NAMES_THIS_PROCESS', /use the memory itself, or its envelope/))
    },
  },
  {
    smoke: true,
    name: 'memory of another library is exported by its pointer, and stays that library\'s',
    run(backend) {
      using owned = exported(backend)
      const adopted = MemoryUSMDevice.fromPointer(owned.memory.pointer, NBYTES, { device: backend.selector, owner: owned.memory })
      assert.deepEqual(adopted.baseAllocation, { nbytes: NBYTES, offset: 0 })
      using handle = new IPCMemoryHandle(adopted)
      using mapped = backend.openMapped!(handle)
      assert.deepEqual(bytesOf(mapped), pattern(NBYTES))
      adopted.close()
      assert.deepEqual(bytesOf(owned.memory), pattern(NBYTES), 'closing frees nothing of the owner\'s')
    },
  },
  {
    smoke: true,
    name: 'memory of our own that was adopted by its pointer lives as long as what was made of it',
    run(backend) {
      const owned = exported(backend)
      const adopted = MemoryUSMDevice.fromPointer(owned.memory.pointer, NBYTES, { device: backend.selector })
      owned[Symbol.dispose]()
      assert.deepEqual(bytesOf(adopted), pattern(NBYTES))
      const handle = new IPCMemoryHandle(adopted)
      const mapped = IPCMemoryHandle.open(handle.toBytes(), backend.selector)
      const foreign = backend.openMapped!(handle)
      adopted.close()
      handle.close()
      for (const memory of [mapped, foreign]) {
        assert.deepEqual(bytesOf(memory), pattern(NBYTES), 'a mapping of adopted memory is the driver\'s, not the owner\'s')
        memory.close()
      }
    },
  },
  {
    smoke: true,
    name: 'a forged handle of another kind of memory is refused first, and spoils nothing for the honest one',
    run(backend) {
      using shared = exported(backend)
      const descriptor = shared.handle.descriptors[0]!
      const honest = asForeign(shared.bytes)
      const at = handleAt(honest) + raw(shared).levelZero
      const lying = forged(honest, (view) => {
        const isOpaque = view.getUint32(at + 16, true) !== 0
        view.setUint8(at + (isOpaque ? 21 : 16), 1)
      })
      const by = (bytes: Uint8Array) => () => IPCMemoryHandle.open(bytes, backend.selector, undefined, { descriptor })
      unmapped(() => refused(by(lying), 'HandleError', 'NOT_DEVICE_MEMORY', /not of USM device memory/))
      using mapped = by(honest)()
      assert.deepEqual(bytesOf(mapped), pattern(NBYTES))
    },
  },
  {
    collects: true,
    name: 'exports that nobody closed give their handles back when they are collected',
    async run(backend) {
      const memories = Array.from({ length: 20 }, () => allocate(backend))
      // A runtime that keeps the descriptor of what was exported once has it from here on.
      if (backend.keepsMappings !== undefined) for (const memory of memories) new IPCMemoryHandle(memory).close()
      const descriptors = openDescriptors()
      ;(() => {
        for (const memory of memories) void new IPCMemoryHandle(memory).descriptors
      })()
      assert(openDescriptors() > descriptors)
      // The memories live: what goes back goes back with the exports.
      const isBack = await collectUntil(() => openDescriptors() <= descriptors)
      for (const memory of memories) memory.close()
      assert(isBack, `more descriptors than the ${descriptors} before`)
    },
  },
  {
    smoke: true,
    name: 'memory that was opened by IPC is not adopted by its pointer either',
    run(backend) {
      using shared = exported(backend)
      using mapped = backend.openMapped!(shared.handle)
      for (const pointer of [mapped.pointer, mapped.pointer + 100n]) {
        unchanged(() => refused(() => MemoryUSMDevice.fromPointer(pointer, 8, { device: backend.selector }), 'StateError', 'IPC_MEMORY', /not exported again/))
      }
    },
  },
  {
    smoke: true,
    name: 'a pointer into a larger allocation is refused unless its neighbours may be seen',
    run(backend) {
      using owned = exported(backend)
      const { pointer } = owned.memory
      const part = (options = {}) => MemoryUSMDevice.fromPointer(pointer + 512n, 100, { device: backend.selector, ...options })
      unchanged(() => refused(() => part(), 'StateError', 'NEIGHBOURS', /a part of an allocation of 4096 bytes, at offset 512/))
      using allowed = part({ allowNeighbours: true })
      assert.deepEqual(allowed.baseAllocation, { nbytes: NBYTES, offset: 512 })
      using handle = new IPCMemoryHandle(allowed, { offset: 10, nbytes: 20 })
      assert.deepEqual([decode(handle.toBytes()).offset, decode(handle.toBytes()).allocationSize], [522, NBYTES])
      using mapped = backend.openMapped!(handle)
      assert.deepEqual(bytesOf(mapped), pattern(20, 522))
    },
  },
  {
    name: 'pointers that are no device memory are refused by name',
    run(backend) {
      const from = (pointer: unknown, nbytes = 16) => () => MemoryUSMDevice.fromPointer(pointer as bigint, nbytes, { device: backend.selector })
      unchanged(() => refused(from(0n), 'RangeError', 'INVALID_POINTER', /above 0/))
      unchanged(() => refused(from(-1n), 'RangeError', 'INVALID_POINTER', /above 0/))
      unchanged(() => refused(from(1n << 64n), 'RangeError', 'INVALID_POINTER', /below 2\^64/))
      unchanged(() => refused(from(4096), 'TypeError', 'INVALID_POINTER', /a bigint/))
      unchanged(() => refused(from(0x1000n), 'RangeError', 'NOT_DEVICE_MEMORY', /./))
      using host = new MemoryUSMHost(NBYTES, { device: backend.selector })
      unchanged(() => refused(from(host.pointer), 'RangeError', 'NOT_DEVICE_MEMORY', /./))
      using owned = exported(backend)
      unchanged(() => refused(from(owned.memory.pointer, NBYTES * 1000), 'RangeError', 'OUT_OF_BOUNDS', /./))
      unchanged(() => refused(from(owned.memory.pointer, 0), 'RangeError', 'INVALID_NBYTES', /integer > 0/))
    },
  },
]
