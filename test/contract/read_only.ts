/** Memory that was shared read-only: importers read, the exporter writes. */
import assert from 'node:assert/strict'
import { IPCMemoryHandle, MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared } from '../../host/index.ts'
import { refused, rejected } from '../support/refused.ts'
import { unchanged } from '../support/unchanged.ts'
import { NBYTES, allocate, bytesOf, exported, pattern } from './support.ts'
import type { ContractCase } from './types.ts'

export const readOnly: ContractCase[] = [
  {
    name: 'an import of read-only memory is read, never written or viewed; its exporter writes it',
    smoke: true,
    needs: 'readOnlySharing',
    async run(backend) {
      using shared = exported(backend, NBYTES, { sharing: 'readOnly' })
      assert.equal(shared.memory.readOnly, false)
      const mappings = [IPCMemoryHandle.open(shared.bytes, backend.selector)]
      if (backend.openMapped !== undefined) mappings.push(backend.openMapped(shared.handle))
      using writable = allocate(backend)
      for (const mapped of mappings) {
        using _ = mapped
        assert.equal(mapped.readOnly, true)
        assert.deepEqual(bytesOf(mapped), pattern(NBYTES))
        refused(() => mapped.copyFrom(new Uint8Array(1)), 'StateError', 'READ_ONLY', /only its exporter can write/)
        refused(() => mapped.copyFrom(writable), 'StateError', 'READ_ONLY', /only its exporter can write/)
        refused(() => mapped.fill(1), 'StateError', 'READ_ONLY', /only its exporter can write/)
        refused(() => mapped.view(), 'StateError', 'READ_ONLY', /a write through a view would crash: use copyTo/)
        await rejected(mapped.copyFromAsync(new Uint8Array(1)), 'StateError', 'READ_ONLY', /only its exporter can write/)
        await rejected(mapped.fillAsync(1), 'StateError', 'READ_ONLY', /only its exporter can write/)
        shared.memory.fill(6, 5, 1)
        assert.equal(bytesOf(mapped)[5], 6, 'the exporter\'s writes are seen')
        shared.memory.copyFrom(pattern(NBYTES))
        writable.copyFrom(mapped)
        assert.deepEqual(bytesOf(writable), pattern(NBYTES), 'it can be copied from')
      }
    },
  },
  {
    name: 'read-only is the allocation\'s, and is asked for by name',
    smoke: true,
    run(backend) {
      using plain = exported(backend, NBYTES, { sharing: 'readWrite' })
      using mapped = IPCMemoryHandle.open(plain.bytes, backend.selector)
      assert.equal(mapped.readOnly, false)
      mapped.fill(1)
      for (const sharing of ['readonly', 'READONLY', '', true, null, 1]) {
        refused(() => new MemoryUSMDevice(NBYTES, { device: backend.selector, sharing: sharing as never }), 'TypeError', 'INVALID_SHARING', /'readWrite' or 'readOnly'/)
      }
      for (const Memory of [MemoryUSMHost, MemoryUSMShared]) {
        refused(() => new Memory(NBYTES, { device: backend.selector, sharing: 'readOnly' }), 'TypeError', 'NOT_EXPORTABLE', /never shared/)
      }
    },
  },
  {
    name: 'memory that cannot be shared read-only is refused where it is allocated',
    without: 'readOnlySharing',
    run(backend) {
      unchanged(() => refused(() => allocate(backend, NBYTES, { sharing: 'readOnly' }), 'RangeError', 'NOT_SHAREABLE', /read-only/i))
    },
  },
]
