/** Envelopes with a tag, on every backend. */
import assert from 'node:assert/strict'
import { IPCMemoryHandle } from '../../host/index.ts'
import { refused } from '../support/refused.ts'
import { NBYTES, bytesOf, exported, pattern } from './support.ts'
import type { ContractCase } from './types.ts'

const KEY = { id: 3, key: new Uint8Array(32).map((_, i) => i * 7) }
const OTHER = { id: 3, key: KEY.key.with(0, 1) }

export const authentication: ContractCase[] = [
  {
    name: 'an export with a key is opened with it, or with it and the next one',
    smoke: true,
    run(backend) {
      using shared = exported(backend, NBYTES, { key: KEY, name: 'tagged' })
      for (const keys of [[KEY], [{ id: 4, key: OTHER.key }, KEY]]) {
        using mapped = IPCMemoryHandle.open(shared.bytes, backend.selector, undefined, { keys, requireAuthentication: true })
        assert.deepEqual(bytesOf(mapped), pattern(NBYTES))
        assert(!mapped.unchecked.some((item) => item.startsWith('authenticity')))
      }
    },
  },
  {
    name: 'an export with a key is refused with another, and an export without one is with any',
    smoke: true,
    run(backend) {
      using shared = exported(backend, NBYTES, { key: KEY })
      using plain = exported(backend)
      const open = (bytes: Uint8Array, keys: typeof KEY[]) => () => IPCMemoryHandle.open(bytes, backend.selector, undefined, { keys })
      refused(open(shared.bytes, [OTHER]), 'HandleError', 'BAD_TAG', /the tag does not match/)
      refused(open(shared.bytes, [{ id: 4, key: KEY.key }]), 'HandleError', 'UNKNOWN_KEY', /not among those given/)
      refused(open(plain.bytes, [KEY]), 'HandleError', 'UNAUTHENTICATED', /not authenticated/)
      refused(open(shared.bytes, []), 'RangeError', 'INVALID_KEY', /leave it out/)
    },
  },
  {
    name: 'an export with a key is mapped like any other where the tag is not checked',
    async run(backend) {
      using shared = exported(backend, NBYTES, { key: KEY, name: 'tagged' })
      const importer = await backend.openElsewhere(shared.handle)
      assert.deepEqual(await importer.read(0, NBYTES), pattern(NBYTES))
      assert.deepEqual(await importer.end(), { live: 0, resources: 0 })
      if (backend.openMapped === undefined) return
      using mapped = backend.openMapped(shared.handle)
      assert.deepEqual(bytesOf(mapped), pattern(NBYTES))
      assert.deepEqual(mapped.unchecked.filter((item) => item.startsWith('authenticity')), ['authenticity: authenticated with key 3, not checked; no keys were given'])
    },
  },
]
