/** Two processes. */
import assert from 'node:assert/strict'
import { asForeign } from '../support/forge.ts'
import { NBYTES, bytesOf, exported, pattern } from './support.ts'
import type { ContractCase } from './types.ts'

export const elsewhere: ContractCase[] = [
  {
    name: 'another process reads what was written, and writes what is read here',
    async run(backend) {
      using shared = exported(backend)
      const importer = await backend.openElsewhere(shared.handle)
      assert.equal(importer.nbytes, NBYTES)
      assert.deepEqual(await importer.read(0, NBYTES), pattern(NBYTES))
      await importer.write(100, new Uint8Array([1, 2, 3]))
      assert.deepEqual(bytesOf(shared.memory, 99, 5), Uint8Array.of(pattern(1, 99)[0]!, 1, 2, 3, pattern(1, 103)[0]!))
      shared.memory.fill(7)
      assert.deepEqual(await importer.read(0, NBYTES), new Uint8Array(NBYTES).fill(7))
      assert.deepEqual(await importer.end(), { live: 0, resources: 0 })
      assert.deepEqual(bytesOf(shared.memory, 0, 4), new Uint8Array(4).fill(7), 'the source outlives the mapping')
    },
  },
  {
    name: 'another process sees the range that was shared, narrowed',
    async run(backend) {
      using shared = exported(backend, NBYTES, { offset: 1000, nbytes: 500 })
      const importer = await backend.openElsewhere(shared.handle, 50)
      assert.equal(importer.nbytes, 50)
      assert.deepEqual(await importer.read(10, 40), pattern(40, 1010))
      await importer.write(0, new Uint8Array([0xaa]))
      assert.deepEqual(bytesOf(shared.memory, 999, 3), Uint8Array.of(pattern(1, 999)[0]!, 0xaa, pattern(1, 1001)[0]!))
      assert.deepEqual(await importer.end(), { live: 0, resources: 0 })
    },
  },
  {
    name: 'another process reads read-only memory and cannot write it',
    needs: 'readOnlySharing',
    async run(backend) {
      using shared = exported(backend, NBYTES, { sharing: 'readOnly' })
      const importer = await backend.openElsewhere(shared.handle)
      assert.equal(importer.readOnly, true)
      await assert.rejects(importer.write(0, new Uint8Array([1])), /ERR_USM_IPC_READ_ONLY/)
      shared.memory.fill(9)
      assert.deepEqual(await importer.read(0, 4), new Uint8Array(4).fill(9))
      assert.deepEqual(await importer.end(), { live: 0, resources: 0 })
    },
  },
  {
    name: 'a mapping in another process outlives export and memory',
    async run(backend) {
      const shared = exported(backend)
      const importer = await backend.openElsewhere(shared.handle)
      shared[Symbol.dispose]()
      assert.deepEqual(await importer.read(0, NBYTES), pattern(NBYTES))
      assert.deepEqual(await importer.end(), { live: 0, resources: 0 })
    },
  },
  {
    name: 'another process gets nothing by bytes alone, nor with the wrong descriptor',
    async run(backend) {
      using shared = exported(backend)
      using other = exported(backend, 2 * NBYTES)
      const importer = await backend.openElsewhere(shared.handle)
      if (backend.descriptors !== 'none') {
        assert.equal(await importer.tryOpen(other.bytes), 'ERR_USM_IPC_DESCRIPTOR_MISSING')
        assert.equal(await importer.tryOpen(asForeign(other.bytes)), 'ERR_USM_IPC_DESCRIPTOR_MISSING')
        // Where a descriptor has no identity, the size alone tells some of them apart.
        const wrong = backend.descriptors === 'identified' ? 'ERR_USM_IPC_DESCRIPTOR_MISSING' : undefined
        if (wrong !== undefined) assert.equal(await importer.tryOpen(other.bytes, { withDescriptor: shared.handle }), wrong)
      }
      assert.equal(await importer.tryOpen(other.bytes, { withDescriptor: other.handle }), 'ok')
      assert.equal(await importer.tryOpen(shared.bytes), 'ok', 'what it has open already needs no descriptor')
      assert.equal(await importer.tryOpen(new Uint8Array(100)), 'ERR_USM_IPC_NOT_AN_ENVELOPE')
      assert.deepEqual(await importer.end(), { live: 0, resources: 0 })
    },
  },
  {
    name: 'several processes map one export; one that ends takes nothing from the others',
    async run(backend) {
      using shared = exported(backend)
      const importers = await Promise.all([1, 2, 3].map(() => backend.openElsewhere(shared.handle)))
      for (const [i, importer] of importers.entries()) {
        await importer.write(i, new Uint8Array([100 + i]))
        assert.deepEqual(await importer.end(), { live: 0, resources: 0 })
        for (const rest of importers.slice(i + 1)) assert.deepEqual(await rest.read(i, 1), new Uint8Array([100 + i]))
      }
      assert.deepEqual(bytesOf(shared.memory, 0, 3), new Uint8Array([100, 101, 102]))
    },
  },
]
