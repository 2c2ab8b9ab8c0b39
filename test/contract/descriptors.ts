/** For backends whose handles come with a memory file: the descriptor is the right one, or nothing is mapped. */
import assert from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Descriptor, FdChannel, IPCMemoryHandle, MemoryUSMDevice, ledger } from '../../host/index.ts'
import { HEADER, LAYOUTS } from '../../host/core/index.ts'
import { asForeign, forged, handleAt } from '../support/forge.ts'
import { SEAL, SEALED, memfdServer, type Memfd } from '../support/memfds.ts'
import { refused } from '../support/refused.ts'
import { unmapped } from '../support/unchanged.ts'
import { NBYTES, bytesOf, exported, pattern } from './support.ts'
import type { BackendUnderTest, ContractCase } from './types.ts'

const open = (backend: BackendUnderTest, bytes: Uint8Array, descriptor?: Descriptor | number) => () =>
  IPCMemoryHandle.open(bytes, backend.selector, undefined, descriptor === undefined ? {} : { descriptor })

/** The export as if its memory were this file: identity in the wanted entry, and in the host's handle. */
export function naming(bytes: Uint8Array, file: Memfd): Uint8Array {
  return forged(asForeign(bytes), (view) => {
    const at = handleAt(bytes)
    const entry = at + Math.ceil(view.getUint32(at - 4, true) / 8) * 8 + 8
    for (const identity of view.getUint8(HEADER.layout) === LAYOUTS.host ? [at, entry + 8] : [entry + 8]) {
      view.setBigUint64(identity, file.stDev, true)
      view.setBigUint64(identity + 8, file.stIno, true)
    }
  })
}

const FILES: { what: string; size: number; seals: number; code: string; says: RegExp }[] = [
  { what: 'no seals', size: NBYTES, seals: 0, code: 'DESCRIPTOR_UNSEALED', says: /F_SEAL_SEAL\|F_SEAL_SHRINK\|F_SEAL_GROW missing/ },
  { what: 'a seal too few', size: NBYTES, seals: SEAL.shrink | SEAL.grow, code: 'DESCRIPTOR_UNSEALED', says: /F_SEAL_SEAL missing/ },
  { what: 'no seal against shrinking', size: NBYTES, seals: SEAL.seal | SEAL.grow, code: 'DESCRIPTOR_UNSEALED', says: /F_SEAL_SHRINK missing/ },
  { what: 'a seal too much', size: NBYTES, seals: SEALED | SEAL.futureWrite, code: 'DESCRIPTOR_UNSEALED', says: /F_SEAL_FUTURE_WRITE too much/ },
  { what: 'the write seal', size: NBYTES, seals: SEALED | SEAL.write, code: 'DESCRIPTOR_UNSEALED', says: /F_SEAL_WRITE too much/ },
  { what: 'a byte too few', size: NBYTES - 1, seals: SEALED, code: 'DESCRIPTOR_TOO_SMALL', says: /the memfd has 4095 bytes, the handle says 4096/ },
  { what: 'no bytes', size: 0, seals: SEALED, code: 'DESCRIPTOR_TOO_SMALL', says: /has 0 bytes/ },
]

export const descriptors: ContractCase[] = [
  ...FILES.map(({ what, size, seals, code, says }): ContractCase => ({
    name: `refused before mapping: a memory file with ${what}`,
    async run(backend) {
      const server = memfdServer()
      try {
        using shared = exported(backend)
        const file = await server.make(size, seals)
        unmapped(() => refused(open(backend, naming(shared.bytes, file), file.fd), 'HandleError', code, says))
        using owned = Descriptor.duplicate(file.fd)
        unmapped(() => refused(open(backend, naming(shared.bytes, file), owned), 'HandleError', code, says))
      } finally {
        await server.close()
      }
    },
  })),
  {
    name: 'a memory file of another program\'s is opened when everything about it is right',
    async run(backend) {
      const server = memfdServer()
      try {
        using shared = exported(backend)
        for (const size of [NBYTES, NBYTES + 1, 10 * NBYTES]) {
          const file = await server.make(size, SEALED, 0x77)
          using mapped = IPCMemoryHandle.open(naming(shared.bytes, file), backend.selector, undefined, { descriptor: file.fd })
          assert.equal(mapped.path, 'mapped')
          assert.deepEqual(bytesOf(mapped), new Uint8Array(NBYTES).fill(0x77))
        }
      } finally {
        await server.close()
      }
    },
  },
  {
    name: 'refused before mapping: another memory file than the handle names',
    async run(backend) {
      const server = memfdServer()
      try {
        using shared = exported(backend)
        using second = exported(backend)
        const file = await server.make(NBYTES, SEALED)
        const bytes = asForeign(shared.bytes)
        for (const descriptor of [file.fd, second.handle.descriptors[0]!]) {
          unmapped(() => refused(open(backend, bytes, descriptor), 'HandleError', 'DESCRIPTOR_FOREIGN', /another memfd .* than the handle names/))
        }
      } finally {
        await server.close()
      }
    },
  },
  {
    name: 'refused before mapping: a descriptor of another kind',
    async run(backend) {
      const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-'))
      const file = join(folder, 'regular')
      writeFileSync(file, new Uint8Array(NBYTES))
      const [here, there] = FdChannel.pair()
      const opened = ['/dev/null', '/proc/self/status', file, folder, '/dev/zero'].map((path) => openSync(path, 'r'))
      try {
        using shared = exported(backend)
        const bytes = asForeign(shared.bytes)
        for (const fd of [...opened, here.fd]) {
          unmapped(() => refused(open(backend, bytes, fd), 'HandleError', 'DESCRIPTOR_WRONG_KIND', /the handle wants the exporter's memfd/))
        }
      } finally {
        for (const fd of opened) closeSync(fd)
        here.close()
        there.close()
        rmSync(folder, { recursive: true })
      }
    },
  },
  {
    name: 'refused before mapping: no descriptor, a closed one, a number that is none',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const bytes = asForeign(shared.bytes)
      unmapped(() => refused(open(backend, bytes), 'HandleError', 'DESCRIPTOR_MISSING', /receive it over an FdChannel, pass it as `descriptor`, or allow `allowPidfd`/))
      const closed = Descriptor.duplicate(shared.handle.descriptors[0]!.number)
      closed.close()
      unmapped(() => refused(open(backend, bytes, closed), 'StateError', 'CLOSED', /the descriptor is closed/))
      const error = unmapped(() => refused(open(backend, bytes, 999_999), 'DriverError', 'SYSTEM_CALL_FAILED', /EBADF/))
      assert.equal((error as unknown as { result: string }).result, 'EBADF')
    },
  },
  {
    name: 'the descriptor stays the caller\'s, and a mapping needs it no longer than the open takes',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const descriptor = Descriptor.duplicate(shared.handle.descriptors[0]!.number)
      using mapped = IPCMemoryHandle.open(asForeign(shared.bytes), backend.selector, undefined, { descriptor })
      assert.equal(descriptor.isClosed, false)
      descriptor.close()
      shared[Symbol.dispose]()
      assert.deepEqual(bytesOf(mapped), pattern(NBYTES))
      assert.equal(ledger({ process: true }).resources.length, 1)
    },
  },
  {
    name: 'a second open of a live mapping is cached: no driver call, no descriptor',
    smoke: true,
    run(backend) {
      using shared = exported(backend)
      const bytes = asForeign(shared.bytes)
      using first = IPCMemoryHandle.open(bytes, backend.selector, undefined, { descriptor: shared.handle.descriptors[0]! })
      assert.equal(first.path, 'mapped')
      const second = IPCMemoryHandle.open(bytes, backend.selector, 10)
      assert.deepEqual([second.path, second.pointer, second.nbytes], ['cached', first.pointer, 10])
      first.close()
      assert.deepEqual(bytesOf(second), pattern(10))
      second.close()
      unmapped(() => refused(open(backend, bytes), 'HandleError', 'DESCRIPTOR_MISSING', /must come beside it/))
    },
  },
  {
    name: 'the descriptor that the handle names is found among those that a channel received, and is taken from it',
    async run(backend) {
      const [here, there] = FdChannel.pair()
      try {
        using one = exported(backend)
        using two = exported(backend, 2 * NBYTES)
        await here.send(one.bytes, { descriptors: [...two.handle.descriptors, ...one.handle.descriptors] })
        await there.receive()
        assert.equal(there.received.size, 2)
        const [foreignOne, foreignTwo] = [asForeign(one.bytes), asForeign(two.bytes)]
        using mappedOne = IPCMemoryHandle.open(foreignOne, backend.selector, undefined, { channel: there })
        assert.equal(there.received.size, 1)
        using mappedTwo = IPCMemoryHandle.open(foreignTwo, backend.selector, undefined, { channel: there })
        assert.equal(there.received.size, 0)
        assert.deepEqual([mappedOne.path, mappedTwo.path], ['mapped', 'mapped'])
        assert.deepEqual(bytesOf(mappedTwo), pattern(2 * NBYTES))
        refused(() => IPCMemoryHandle.open(asForeign(one.bytes), backend.selector, undefined, { channel: there }), 'HandleError', 'DESCRIPTOR_MISSING', /FdChannel/)
      } finally {
        here.close()
        there.close()
      }
    },
  },
  {
    name: 'descriptors of opens that were cached do not pile up on the channel',
    async run(backend) {
      const [here, there] = FdChannel.pair()
      try {
        using shared = exported(backend)
        const bytes = asForeign(shared.bytes)
        const opened = []
        for (let i = 0; i < 300; i++) {
          await here.send(bytes, { descriptors: shared.handle.descriptors })
          const frame = await there.receive()
          opened.push(IPCMemoryHandle.open(frame.bytes, backend.selector, undefined, { channel: there }))
          assert.equal(there.received.size, 0, `open ${i} (${opened.at(-1)!.path}) left its descriptor on the channel`)
        }
        for (const mapped of opened) mapped.close()
      } finally {
        here.close()
        there.close()
      }
    },
  },
  {
    name: 'a refused open leaves the channel\'s descriptors to the channel, or closes them: never both',
    async run(backend) {
      const [here, there] = FdChannel.pair()
      try {
        using shared = exported(backend)
        await here.send(shared.bytes, { descriptors: shared.handle.descriptors })
        await there.receive()
        const bad = asForeign(shared.bytes)
        bad[bad.length - 1]! ^= 1
        refused(() => IPCMemoryHandle.open(bad, backend.selector, undefined, { channel: there }), 'HandleError', 'BAD_CHECKSUM', /damaged/)
        assert.equal(there.received.size, 1, 'the bytes were refused before any descriptor was looked at')
        IPCMemoryHandle.open(asForeign(shared.bytes), backend.selector, undefined, { channel: there }).close()
        assert.equal(there.received.size, 0)
      } finally {
        here.close()
        there.close()
      }
    },
  },
  {
    name: 'adopting a descriptor that something here owns is refused, and nothing of it is closed',
    run(backend) {
      using memory = new MemoryUSMDevice(NBYTES, { device: backend.selector })
      using handle = new IPCMemoryHandle(memory)
      const { number } = handle.descriptors[0]!
      unmapped(() => refused(() => Descriptor.adopt(number), 'StateError', 'DESCRIPTOR_OWNED', /adopt a duplicate of it/))
      memory.fill(1)
    },
  },
]
