import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import test from 'ava'
import fc from 'fast-check'
import {
  KINDS, PATHS, allocate, assertEmpty, collect, collectUntil, core, forge, get, holder, native, newId, open, parse, read,
  reasonOf, refused, usage,
} from './raw.ts'

const addonPath = process.env['USM_IPC_ADDON'] ?? fileURLToPath(new URL('../../build/Release/usm_ipc.node', import.meta.url))

test.afterEach.always((t) => assertEmpty(t))

test.serial('a claim ends once, and the last one closes the resource', (t) => {
  const first = allocate(4096)
  const second = native.claim(first, KINDS.lease, holder())
  t.is(native.info(second).claims, 2)
  t.true(native.end(first))
  t.false(native.end(first))
  refused(t, 'state', 'unknown-claim', () => native.info(first))
  t.is(native.info(second).base !== 0n && native.info(second).claims, 1)
  t.is(usage().mappings, 1)
  t.true(native.end(second))
  t.false(native.end(second))
})

test.serial('claims that were never taken are unknown', (t) => {
  for (const claim of [0, 2 ** 52, Number.MAX_SAFE_INTEGER]) {
    t.false(native.end(claim))
    refused(t, 'state', 'unknown-claim', () => native.info(claim))
    refused(t, 'state', 'unknown-claim', () => native.claim(claim, KINDS.lease, holder()))
    refused(t, 'state', 'unknown-claim', () => native.view(claim, 0, 1))
  }
})

test.serial('what is no claim is an argument failure', (t) => {
  for (const value of [-1, 1.5, NaN, Infinity, 2 ** 53, '1', 1n, null, undefined, {}]) {
    refused(t, 'argument', 'invalid-argument', () => native.end(value as number))
    refused(t, 'argument', 'invalid-argument', () => native.info(value as number))
  }
})

test.serial('opening in the exporting process is a claim on the allocation itself', (t) => {
  const id = newId()
  const allocation = allocate(5000, { id })
  const mapping = open(get(allocation), 5000, { id })
  t.is(native.info(mapping).path, PATHS.self)
  t.is(native.info(mapping).kind, KINDS.mapping)
  t.is(native.info(mapping).base, native.info(allocation).base)
  t.is(usage().mappings, 1)
  t.true(native.end(allocation))
  native.write(mapping, 4999, Uint8Array.of(7))
  t.deepEqual(read(mapping, 4999, 1), [7])
  t.true(native.end(mapping))
})

test.serial('a live mapping serves further opens without a descriptor; a closed one serves none', (t) => {
  const allocation = allocate(4096)
  const handle = get(allocation)
  const descriptor = native.exportDescriptor(allocation, holder())
  const id = newId() // not the allocation's: as if another process had made it
  const mapped = open(handle, 4096, { id, descriptor })
  const cached = open(handle, 4096, { id })
  t.is(native.info(mapped).path, PATHS.mapped)
  t.is(native.info(cached).path, PATHS.cached)
  t.is(native.info(cached).base, native.info(mapped).base)
  t.is(usage().mappings, 2)
  t.true(native.end(mapped))
  t.deepEqual(read(cached, 0, 1), [0])
  t.true(native.end(cached))
  t.is(usage().mappings, 1)
  refused(t, 'descriptor', 'descriptor-missing', () => open(handle, 4096, { id }))
  native.end(descriptor)
  native.end(allocation)
})

test.serial('without an allocation id every open is a mapping of its own', (t) => {
  const allocation = allocate(4096, { id: 0n })
  const handle = get(allocation)
  const descriptor = native.exportDescriptor(allocation, holder())
  const claims = [open(handle, 4096, { descriptor }), open(handle, 4096, { id: 0n, descriptor })]
  t.deepEqual(claims.map((claim) => native.info(claim).path), [PATHS.mapped, PATHS.mapped])
  t.is(new Set([...claims, allocation].map((claim) => native.info(claim).base)).size, 3)
  refused(t, 'descriptor', 'descriptor-missing', () => open(handle, 4096, { id: 0n }))
  for (const claim of [...claims, descriptor, allocation]) t.true(native.end(claim))
})

test.serial('a handle that borrows the id of live memory is refused', (t) => {
  const own = newId()
  const foreign = newId()
  const allocation = allocate(4096, { id: own })
  const handle = get(allocation)
  const descriptor = native.exportDescriptor(allocation, holder())
  const mapping = open(handle, 4096, { id: foreign, descriptor })
  const { inode, device } = parse(handle)
  for (const forged of [{ inode: inode + 1n }, { device: device + 1n }, { nbytes: 4095n }, { flags: 1 }]) {
    refused(t, 'descriptor', 'identity-mismatch', () => open(forge(handle, forged), 4096, { id: own, descriptor }))
    // Of an id that is not ours nobody knows who had it first: what the handle names decides.
    refused(t, 'descriptor', 'descriptor-missing', () => open(forge(handle, forged), 4096, { id: foreign }))
  }
  refused(t, 'descriptor', 'descriptor-foreign', () => open(forge(handle, { inode: inode + 1n }), 4096, { id: foreign, descriptor }))
  refused(t, 'descriptor', 'descriptor-foreign', () => open(forge(handle, { device: device + 1n }), 4096, { id: foreign, descriptor }))
  refused(t, 'descriptor', 'descriptor-unsealed', () => open(forge(handle, { flags: 1 }), 4096, { id: foreign, descriptor }))
  refused(t, 'descriptor', 'identity-mismatch', () => open(handle, 4095, { id: own, descriptor }))
  for (const id of [own, foreign]) {
    t.true(native.end(open(forge(handle, { descriptor: 99 }), 4096, { id })), 'the descriptor number is no identity')
  }
  for (const claim of [mapping, descriptor, allocation]) t.true(native.end(claim))
})

test.serial('mappings of one id that name different memory stand side by side, and keep nobody from the id', (t) => {
  const id = newId()
  const memories = [allocate(4096, { id: newId() }), allocate(4096, { id: newId() })]
  const handles = memories.map((memory) => get(memory))
  const descriptors = memories.map((memory) => native.exportDescriptor(memory, holder()))
  const mappings = handles.map((handle, i) => open(handle, 4096, { id, descriptor: descriptors[i]! }))
  memories.forEach((memory, i) => native.write(memory, 0, Uint8Array.of(i + 1)))
  const read = (claim: number): number => {
    const byte = new Uint8Array(1)
    native.read(claim, 0, byte)
    return byte[0]!
  }
  t.deepEqual(mappings.map(read), [1, 2])
  const cached = handles.map((handle) => open(handle, 4096, { id }))
  t.deepEqual(cached.map(read), [1, 2], 'each is served its own')
  const allocation = allocate(4096, { id })
  refused(t, 'descriptor', 'identity-mismatch', () => open(forge(get(allocation), { inode: 1n }), 4096, { id }))
  for (const claim of [...cached, ...mappings, ...descriptors, ...memories, allocation]) t.true(native.end(claim))
})

test.serial('an allocation id is in use once at a time', (t) => {
  const id = newId()
  const allocation = allocate(4096, { id })
  refused(t, 'state', 'allocation-id-in-use', () => allocate(4096, { id }))
  t.is(usage().descriptors, 1)
  native.end(allocation)
  native.end(allocate(4096, { id }))
})

test.serial('memory that came by IPC is not exported again, under whatever further claim', (t) => {
  const id = newId()
  const allocation = allocate(4096, { id })
  const handle = get(allocation)
  const descriptor = native.exportDescriptor(allocation, holder())
  const claims = [open(handle, 4096, { id }), open(handle, 4096, { descriptor })]
  claims.push(...claims.map((claim) => native.claim(claim, KINDS.exported, holder())))
  for (const claim of claims) {
    refused(t, 'state', 'ipc-memory', () => get(claim))
    refused(t, 'state', 'ipc-memory', () => native.exportDescriptor(claim, holder()))
  }
  for (const claim of [...claims, descriptor, allocation]) t.true(native.end(claim))
})

test.serial('claims of allocations and views are made by allocate() and view() alone', (t) => {
  const allocation = allocate(4096)
  for (const kind of [0, KINDS.allocation, KINDS.view, 7, 256]) {
    refused(t, 'argument', 'invalid-argument', () => native.claim(allocation, kind, holder()))
  }
  native.end(allocation)
})

test.serial('a claim on a descriptor is not one on memory, nor the other way round', (t) => {
  const allocation = allocate(4096)
  const descriptor = native.exportDescriptor(allocation, holder())
  refused(t, 'argument', 'not-a-descriptor', () => native.descriptorNumber(allocation))
  refused(t, 'argument', 'not-a-descriptor', () => open(get(allocation), 4096, { descriptor: allocation }))
  refused(t, 'argument', 'not-memory', () => native.view(descriptor, 0, 1))
  refused(t, 'argument', 'not-memory', () => native.write(descriptor, 0, Uint8Array.of(1)))
  native.end(descriptor)
  native.end(allocation)
})

test.serial('a claim without a holder to hold it is ended at once', (t) => {
  const allocation = allocate(4096)
  for (const nothing of [undefined, null, 1, 'holder'] as unknown as object[]) {
    t.throws(() => native.claim(allocation, KINDS.lease, nothing))
    t.is(native.info(allocation).claims, 1)
  }
  native.end(allocation)
})

test.serial('the holder of a forgotten claim ends it when it is collected, and the environment is told once', async (t) => {
  const forgotten = [1, 2, 3].map(() => allocate(4096, { holder: {} }))
  t.true(await collectUntil(() => native.book().claims === 0))
  t.deepEqual(native.drainEnded().sort((a, b) => a - b), forgotten)
  t.deepEqual(native.drainEnded(), [])
  for (const claim of forgotten) t.false(native.end(claim))
})

test.serial('a view outlives every other claim, and only its buffer ends it', async (t) => {
  const allocation = allocate(4096)
  native.write(allocation, 16, Uint8Array.of(1, 2, 3))
  const { claim } = await useView(allocation)
  t.true(await collectUntil(() => native.book().claims === 0))
  t.deepEqual(native.drainEnded(), [claim])

  async function useView(allocation: number): Promise<{ claim: number }> {
    const { buffer, claim } = native.view(allocation, 16, 100)
    t.true(native.end(allocation))
    t.false(native.end(claim))
    refused(t, 'state', 'unknown-claim', () => native.info(claim))
    refused(t, 'state', 'unknown-claim', () => native.claim(claim, KINDS.lease, holder()))
    await collect(5)
    const bytes = new Uint8Array(buffer)
    t.is(bytes.length, 100)
    bytes[99] = 9
    t.deepEqual([...bytes.subarray(0, 4), bytes[99]], [1, 2, 3, 0, 9])
    t.is(native.book().claims, 1)
    return { claim }
  }
})

test.serial('views are inside the memory and not empty', (t) => {
  const allocation = allocate(4096)
  refused(t, 'argument', 'zero-size', () => native.view(allocation, 0, 0))
  refused(t, 'argument', 'out-of-bounds', () => native.view(allocation, 0, 4097))
  refused(t, 'argument', 'out-of-bounds', () => native.view(allocation, 4096, 1))
  refused(t, 'argument', 'out-of-bounds', () => native.view(allocation, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER))
  t.is(native.info(allocation).claims, 1)
  native.end(allocation)
})

test.serial('10,000 opens, exports and claims leave the process as it was', (t) => {
  const id = newId()
  const allocation = allocate(4096, { id })
  const handle = get(allocation)
  const descriptor = native.exportDescriptor(allocation, holder())
  const held = holder()
  const before = usage()
  const flat: Parameters<typeof open>[2][] = [{ descriptor }, { id }, { id: newId(), descriptor }]
  for (let i = 0; i < 10_000; i++) {
    const mapping = open(handle, 4096, { ...flat[i % 3], holder: held })
    const further = native.claim(mapping, KINDS.lease, held)
    const duplicate = native.exportDescriptor(allocation, held)
    if (!native.end(mapping) || !native.end(further) || !native.end(duplicate)) t.fail(`cycle ${i}`)
  }
  t.deepEqual(usage(), before)
  t.is(native.info(allocation).claims, 1)
  t.is(native.book().resources.length, 2)
  native.end(descriptor)
  native.end(allocation)
})

test.serial('the book has every resource, its claims and its allocation id', (t) => {
  const allocation = allocate(4096, { id: 0x0f0e0d0c0b0a09080706050403020100n })
  native.claim(allocation, KINDS.exported, holder())
  const descriptor = native.exportDescriptor(allocation, holder())
  t.deepEqual(native.book().resources, [
    { kind: 'allocation', backend: 'host', nbytes: 4096, allocationId: '000102030405060708090a0b0c0d0e0f', claims: 2, leases: 0 },
    { kind: 'descriptor', backend: '', nbytes: 0, allocationId: '', claims: 1, leases: 0 },
  ])
  t.is(native.info(allocation).allocationId, '000102030405060708090a0b0c0d0e0f')
  t.is(native.book().claims, 3)
  native.end(allocation)
  native.end(allocation + 1)
  native.end(descriptor)
})

test.serial('leases are counted, and the last one closes what it is on', async (t) => {
  const allocation = allocate(4096)
  const leases = [1, 2].map(() => native.claim(allocation, KINDS.lease, holder()))
  native.claim(allocation, KINDS.lease, {})
  const counted = (): number[] => [native.book().leases, native.book().resources[0]!.leases, native.book().claims]
  t.deepEqual(counted(), [3, 3, 4])
  t.is(native.info(leases[0]!).kind, KINDS.lease)
  t.true(await collectUntil(() => native.book().leases === 2), 'a forgotten one ends with its holder')
  t.is(native.drainEnded().length, 1)
  native.end(allocation)
  t.deepEqual(counted(), [2, 2, 2])
  t.deepEqual(leases.map((lease) => native.end(lease)), [true, true])
  t.deepEqual(native.book().resources, [])
})

test.serial('every range of core memory is checked', (t) => {
  const allocation = allocate(4096)
  const handle = get(allocation)
  const size = core.length
  const openAt = (at: number, length: number) => () => native.open(0, 0, 1, core, at, length, -1, 4096, -1, 0, holder())
  for (const at of [size - 31, size, size + 1, Number.MAX_SAFE_INTEGER]) refused(t, 'argument', 'out-of-bounds', openAt(at, 32))
  refused(t, 'argument', 'out-of-bounds', openAt(size + 1, 0))
  refused(t, 'argument', 'invalid-argument', openAt(0, 4096 + 1))
  refused(t, 'argument', 'out-of-bounds', () => native.open(0, 0, 1, core, 0, 32, size - 15, 4096, -1, 0, holder()))
  refused(t, 'argument', 'out-of-bounds', () => native.get(allocation, 0, core, size - 31, 4096, 0, 1024, false))
  refused(t, 'argument', 'out-of-bounds', () => native.get(allocation, 0, core, 0, 4096, size - 31, 1024, false))
  refused(t, 'argument', 'capacity', () => native.get(allocation, 0, core, 0, 31, 0, 1024, false))
  refused(t, 'argument', 'capacity', () => native.get(allocation, 0, core, 0, 32, 64, 31, false))
  for (const other of [new ArrayBuffer(64), new DataView(new ArrayBuffer(64)), new Uint16Array(64), [], null]) {
    refused(t, 'argument', 'invalid-argument', () => native.get(allocation, 0, other as unknown as Uint8Array, 0, 32, 32, 32, false))
  }
  t.is(handle.length, 32)
  native.end(allocation)
})

test.serial('a view on a wasm memory that has grown is refused', (t) => {
  const grown = new WebAssembly.Memory({ initial: 1 })
  const stale = new Uint8Array(grown.buffer)
  grown.grow(1)
  const allocation = allocate(4096)
  refused(t, 'argument', 'out-of-bounds', () => native.get(allocation, 0, stale, 0, 32, 64, 64, false))
  refused(t, 'argument', 'out-of-bounds', () => native.open(0, 0, 1, stale, 0, 32, -1, 4096, -1, 0, holder()))
  refused(t, 'argument', 'out-of-bounds', () => native.allocate(0, 0, 1, 4096, false, stale, 0, holder(), 0))
  native.end(allocation)
})

test.serial('a core memory that is shared serves as well', (t) => {
  const shared = new Uint8Array(new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }).buffer)
  shared[0] = 1
  const allocation = native.allocate(0, 0, 1, 4096, false, shared, 0, holder(), 0)
  t.is(native.get(allocation, 0, shared, 64, 32, 128, 64, false), 32)
  const mapping = native.open(0, 0, 1, shared, 64, 32, 0, 4096, -1, 0, holder())
  t.is(native.info(mapping).path, PATHS.self)
  native.end(mapping)
  native.end(allocation)
})

test.serial('a range is read exactly when it is inside the memory', (t) => {
  const nbytes = 300
  const allocation = allocate(nbytes)
  const offset = fc.oneof(fc.nat(2 * nbytes), fc.maxSafeNat())
  fc.assert(
    fc.property(offset, fc.nat(2 * nbytes), (at, length) => {
      const reason = at + length <= nbytes ? undefined : 'out-of-bounds'
      const calls = [
        () => native.read(allocation, at, new Uint8Array(length)),
        () => native.write(allocation, at, new Uint8Array(length)),
        () => native.fill(allocation, at, length, 0),
        () => native.copy(allocation, at, allocation, 0, length),
        () => native.copy(allocation, 0, allocation, at, length),
      ]
      for (const call of calls) if (reasonOf(call) !== reason) return false
      return true
    }),
  )
  native.end(allocation)
  t.pass()
})

test.serial("another environment's claims are not to be used or ended, and end with it", async (t) => {
  const allocation = allocate(4096)
  const descriptor = native.exportDescriptor(allocation, holder())
  const worker = new Worker(
    `const { workerData, parentPort } = require('node:worker_threads')
     const native = require(workerData.addonPath)
     const failure = (run) => { try { run(); return '' } catch (error) { return error.reason } }
     const seen = workerData.claims.map((claim) => [native.end(claim), failure(() => native.info(claim)),
       failure(() => native.claim(claim, 6, {})), failure(() => native.view(claim, 0, 1))])
     const core = new Uint8Array(new WebAssembly.Memory({ initial: 1 }).buffer)
     const holder = globalThis.holder = {}
     const own = native.allocate(0, 0, 1, 4096, false, core, 0, holder, 0)
     native.get(own, 0, core, 64, 32, 128, 64, false)
     const fd = native.exportDescriptor(own, holder)
     const mapping = native.open(0, 0, 1, core, 64, 32, -1, 4096, -1, fd, holder)
     globalThis.view = native.view(mapping, 0, 1)
     parentPort.postMessage({ seen, claims: [own, fd, mapping, globalThis.view.claim], drained: native.drainEnded() })
     setInterval(() => {}, 1000)`,
    { eval: true, workerData: { addonPath, claims: [allocation, descriptor] } },
  )
  const [{ seen, claims, drained }] = (await once(worker, 'message')) as [
    { seen: unknown[]; claims: number[]; drained: number[] },
  ]
  t.deepEqual(seen, [allocation, descriptor].map(() => [false, 'unknown-claim', 'unknown-claim', 'unknown-claim']))
  t.deepEqual(drained, [])
  t.is(native.book().environments, 2)
  t.is(native.book().claims, 6)
  for (const claim of claims) {
    t.false(native.end(claim))
    refused(t, 'state', 'unknown-claim', () => native.info(claim))
  }
  await worker.terminate()
  t.true(await collectUntil(() => native.book().claims === 2), 'its claims have ended, its view with its buffer')
  t.is(native.book().environments, 1)
  t.deepEqual(native.drainEnded(), [])
  t.true(native.end(descriptor))
  t.true(native.end(allocation))
})
