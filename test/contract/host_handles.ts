/** The host's own handles: read-only ones, and raw ones. */
import assert from 'node:assert/strict'
import { IPCMemoryHandle, ledger, type Descriptor } from '../../host/index.ts'
import { asForeign, forged, handleAt } from '../support/forge.ts'
import { refused } from '../support/refused.ts'
import { unchanged, unmapped } from '../support/unchanged.ts'
import { NBYTES, bytesOf, exported, pattern } from './support.ts'
import type { BackendUnderTest, ContractCase } from './types.ts'

const open = (backend: BackendUnderTest, bytes: Uint8Array, descriptor: Descriptor) => () =>
  IPCMemoryHandle.open(bytes, backend.selector, undefined, { descriptor })

export const hostHandles: ContractCase[] = [
  {
    name: 'a read-only handle and a writable memory file do not go together, nor the other way round',
    async run(backend) {
      using readOnly = exported(backend, NBYTES, { sharing: 'readOnly' })
      using writable = exported(backend)
      const flags = (bytes: Uint8Array, value: number): Uint8Array =>
        forged(asForeign(bytes), (view) => view.setUint32(handleAt(bytes) + 28, value, true))
      const [sealed, unsealed] = [readOnly.handle.descriptors[0]!, writable.handle.descriptors[0]!]
      unmapped(() => refused(open(backend, flags(readOnly.bytes, 0), sealed), 'HandleError', 'DESCRIPTOR_UNSEALED', /F_SEAL_FUTURE_WRITE too much/))
      unmapped(() => refused(open(backend, flags(writable.bytes, 1), unsealed), 'HandleError', 'DESCRIPTOR_UNSEALED', /F_SEAL_FUTURE_WRITE missing/))
    },
  },
  {
    name: 'a raw handle opens with its layout, size and descriptor, and says what nobody checked',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const raw = shared.bytes.slice(handleAt(shared.bytes), handleAt(shared.bytes) + 32)
      const descriptor = shared.handle.descriptors[0]!
      using mapped = IPCMemoryHandle.openVendor(raw, backend.selector, 100, { layout: 'host', offset: 1000, descriptor })
      assert.deepEqual(bytesOf(mapped), pattern(100, 1000))
      assert.equal(mapped.path, 'mapped')
      assert(mapped.unchecked.length > 0 && mapped.unchecked.every((reason) => reason.includes(':')))
      assert(mapped.unchecked.some((reason) => reason.startsWith('integrity')))
      using again = IPCMemoryHandle.openVendor(raw, backend.selector, NBYTES, { layout: 'host', descriptor })
      assert.notEqual(again.pointer, mapped.pointer)
      again.fill(9)
      assert.deepEqual(bytesOf(mapped), new Uint8Array(100).fill(9))
      assert.equal(ledger().mappings, 2)
      refused(() => new IPCMemoryHandle(again), 'StateError', 'IPC_MEMORY', /not exported again/)
      unchanged(() => {
        using byNumber = IPCMemoryHandle.openVendor(raw, backend.selector, 1, { layout: 'host', descriptor: descriptor.number })
        assert.equal(byNumber.path, 'mapped')
      })
    },
  },
  {
    name: 'raw handles with structural faults are refused before mapping',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const raw = shared.bytes.slice(handleAt(shared.bytes), handleAt(shared.bytes) + 32)
      const descriptor = shared.handle.descriptors[0]!
      const vendor = (bytes: Uint8Array, nbytes = NBYTES, options: object = {}) => () =>
        IPCMemoryHandle.openVendor(bytes, backend.selector, nbytes, { layout: 'host', descriptor, ...options })
      const changed = (at: number, value: bigint): Uint8Array => {
        const bytes = raw.slice()
        new DataView(bytes.buffer).setBigUint64(at, value, true)
        return bytes
      }
      unmapped(() => refused(vendor(raw.subarray(0, 31)), 'HandleError', 'BAD_HANDLE_LENGTH', /length is not its layout's/))
      unmapped(() => refused(vendor(new Uint8Array(0)), 'HandleError', 'BAD_HANDLE_LENGTH', /length is not its layout's/))
      unmapped(() => refused(vendor(Uint8Array.of(...raw, 0)), 'HandleError', 'BAD_HANDLE_LENGTH', /length/))
      unmapped(() => refused(vendor(changed(16, 0n)), 'HandleError', 'HANDLE_ZERO_SIZE', /empty/))
      unmapped(() => refused(vendor(changed(16, 1n << 60n)), 'HandleError', 'SIZE_TOO_LARGE', /above 2\^53-1/))
      unmapped(() => refused(vendor(changed(8, 0n)), 'HandleError', 'HANDLE_NO_IDENTITY', /identity is zero/))
      unmapped(() => refused(vendor(changed(8, 12345n)), 'HandleError', 'DESCRIPTOR_FOREIGN', /another memfd/))
      unmapped(() => refused(vendor(changed(16, BigInt(2 * NBYTES))), 'HandleError', 'DESCRIPTOR_TOO_SMALL', /has 4096 bytes/))
      unmapped(() => refused(vendor(changed(24, 0x8_0000_0003n)), 'HandleError', 'HANDLE_PADDING', /are not zero/))
      unmapped(() => refused(vendor(changed(24, 0xffff_fffdn)), 'HandleError', 'HANDLE_NEGATIVE_FD', /negative/))
      unmapped(() => refused(vendor(raw, NBYTES + 1), 'RangeError', 'OUT_OF_RANGE', /do not fit into 4096/))
      unmapped(() => refused(vendor(raw, NBYTES, { offset: 1 }), 'RangeError', 'OUT_OF_RANGE', /do not fit into 4096/))
      unmapped(() => refused(vendor(raw, 1, { offset: -1 }), 'RangeError', 'INVALID_OFFSET', /integer from 0/))
      unmapped(() => refused(vendor(raw, 0), 'RangeError', 'INVALID_NBYTES', /integer > 0/))
      unmapped(() => refused(vendor(raw, undefined as never, { offset: '0' }), 'TypeError', 'INVALID_OFFSET', /number of bytes/))
      unmapped(() => refused(vendor(raw, NBYTES, { layout: 'memfd' }), 'TypeError', 'UNKNOWN_LAYOUT', /layout must be one of host/))
      unmapped(() => refused(vendor(new Uint8Array(64), 1, { layout: 'cuda' }), 'HandleError', 'WRONG_BACKEND', /cuda handle is not opened by a host device/))
      unmapped(() => refused(vendor(raw, NBYTES, { descriptor: undefined }), 'HandleError', 'DESCRIPTOR_MISSING', /must come beside it/))
      unmapped(() => refused(vendor(raw, NBYTES, { descriptor: undefined, allowPidfd: true }), 'TypeError', 'INVALID_OPTIONS', /allowPidfd cannot fetch/))
      unmapped(() => refused(() => IPCMemoryHandle.openVendor(raw, backend.selector, NBYTES, undefined as never), 'TypeError', 'UNKNOWN_LAYOUT', /layout must be one of/))
      unmapped(() => refused(() => IPCMemoryHandle.openVendor('raw' as never, backend.selector, NBYTES, { layout: 'host' }), 'TypeError', 'INVALID_BYTES', /must be a Uint8Array/))
    },
  },
]
