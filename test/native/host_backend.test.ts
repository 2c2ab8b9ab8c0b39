import { spawnSync } from 'node:child_process'
import {
  accessSync, constants, fstatSync, ftruncateSync, mkdtempSync, openSync, readFileSync, rmSync, statSync,
  writeFileSync, writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import {
  KINDS, PATHS, USM, allocate, assertEmpty, entries, forge, get, holder, mappingLines, native, newId, open, parse, read,
  refused, usage, type HandleFields,
} from './raw.ts'

/** Closed numbers are reused at once by other threads, so what must not be open is far above all of them. */
const UNUSED_FD = 1_000_000

test.afterEach.always((t) => assertEmpty(t))

/** An allocation as another process would see it: its handle and a descriptor, and an id that is not in the registry. */
function exporter(nbytes: number, readOnly = false): { allocation: number; handle: Uint8Array; descriptor: number } {
  const allocation = allocate(nbytes, { readOnly })
  return { allocation, handle: get(allocation), descriptor: native.exportDescriptor(allocation, holder()) }
}

function endAll(t: ExecutionContext, ...claims: number[]): void {
  for (const claim of claims) t.true(native.end(claim))
}

test.serial('there is one device, the same at every look', (t) => {
  t.is(native.backends()[0], 'host')
  t.is(native.unavailable(0).reason, '')
  const devices = native.devices(0)
  t.is(devices.length, 1)
  const [device] = devices
  t.deepEqual(native.devices(0), devices)
  t.regex(device!.name, /^Host memory \(.+\)$/)
  t.is(device!.type, 'host')
  t.false(device!.software)
  t.true(device!.memory > 0)
  t.is(device!.uuid.length, 16)
  t.is(device!.uuid[6]! >> 4, 8, 'RFC 9562 version 8')
  t.is(device!.uuid[8]! >> 6, 2, 'RFC 9562 variant')
  refused(t, 'argument', 'no-such-device', () => native.allocate(0, 1, 1, 16, false, new Uint8Array(16), 0, holder(), 0))
  refused(t, 'argument', 'invalid-argument', () => native.devices(99))
})

test.serial('the vendor handle and the descriptor entry name the memory file', (t) => {
  for (const readOnly of [false, true]) {
    const { allocation, handle, descriptor } = exporter(5001, readOnly)
    const fd = native.descriptorNumber(descriptor)
    const file = fstatSync(fd, { bigint: true })
    t.is(file.size, 5001n)
    t.is(handle.length, 32)
    const fields = parse(handle)
    t.deepEqual(
      { ...fields, descriptor: 0 },
      { device: file.dev, inode: file.ino, nbytes: 5001n, descriptor: 0, flags: readOnly ? 1 : 0 },
    )
    t.is(fstatSync(fields.descriptor, { bigint: true }).ino, file.ino)
    const view = new DataView(entries().buffer)
    t.deepEqual([view.byteLength, view.getUint32(0, true), view.getUint32(4, true)], [32, 1, 1], 'one entry, layout host')
    t.deepEqual([view.getUint32(8, true), view.getUint32(12, true)], [1, 0])
    t.deepEqual([view.getBigUint64(16, true), view.getBigUint64(24, true)], [file.dev, file.ino])
    t.deepEqual(native.descriptorIdentity(descriptor), { stDev: file.dev, stIno: file.ino })
    t.regex(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'), /flags:\s+0?2\d{6}$/m, 'close-on-exec')
    endAll(t, allocation, descriptor)
  }
})

test.serial('the memory file is sealed', (t) => {
  const { allocation, descriptor } = exporter(4096)
  const fd = native.descriptorNumber(descriptor)
  t.throws(() => ftruncateSync(fd, 0), { code: 'EPERM' })
  t.throws(() => ftruncateSync(fd, 8192), { code: 'EPERM' })
  t.is(writeSync(fd, Uint8Array.of(5), 0, 1, 0), 1)
  t.deepEqual(read(allocation, 0, 1), [5])
  const readOnly = exporter(4096, true)
  t.throws(() => writeSync(native.descriptorNumber(readOnly.descriptor), Uint8Array.of(5), 0, 1, 0), { code: 'EPERM' })
  endAll(t, allocation, descriptor, readOnly.allocation, readOnly.descriptor)
})

test.serial('exporter and importer see the same bytes', (t) => {
  const { allocation, handle, descriptor } = exporter(10_000)
  const mapping = open(handle, 10_000, { descriptor })
  endAll(t, descriptor)
  t.not(native.info(mapping).base, native.info(allocation).base)
  native.write(allocation, 9_998, Uint8Array.of(1, 2))
  t.deepEqual(read(mapping, 9_997, 3), [0, 1, 2])
  native.fill(mapping, 1, 3, 255)
  t.deepEqual(read(allocation, 0, 5), [0, 255, 255, 255, 0])
  native.copy(allocation, 100, mapping, 9_998, 2)
  t.deepEqual(read(mapping, 100, 2), [1, 2])
  native.read(mapping, 0, new Uint8Array(0))
  native.write(mapping, 10_000, new Uint8Array(0))
  endAll(t, allocation)
  t.deepEqual(read(mapping, 100, 2), [1, 2], 'the file lives as long as a mapping of it')
  endAll(t, mapping)
})

test.serial('overlapping ranges are copied as if through a buffer, also through two mappings of one file', (t) => {
  const nbytes = 20_000
  const { allocation, handle, descriptor } = exporter(nbytes)
  const mapping = open(handle, nbytes, { descriptor })
  const pattern = Uint8Array.from({ length: nbytes }, (_, i) => i % 251)
  for (const [to, from] of [[allocation, allocation], [mapping, allocation], [allocation, mapping]] as const) {
    for (const [toOffset, fromOffset] of [[0, 100], [100, 0], [1, 0], [0, 1]] as const) {
      native.write(allocation, 0, pattern)
      native.copy(to, toOffset, from, fromOffset, nbytes - 100)
      const expected = pattern.slice().fill(0)
      expected.set(pattern)
      expected.copyWithin(toOffset, fromOffset, fromOffset + nbytes - 100)
      const actual = new Uint8Array(nbytes)
      native.read(mapping, 0, actual)
      t.deepEqual(actual, expected)
    }
  }
  endAll(t, allocation, mapping, descriptor)
})

test.serial('a read-only import can be read and nothing else; its exporter may write', (t) => {
  const id = newId()
  const { allocation, handle, descriptor } = exporter(4096, true)
  const own = allocate(4096, { id, readOnly: true })
  const imports = [open(handle, 4096, { descriptor }), open(get(own), 4096, { id })]
  t.is(native.info(imports[1]!).path, PATHS.self)
  native.write(allocation, 0, Uint8Array.of(3))
  native.fill(own, 0, 1, 3)
  imports.push(...imports.map((claim) => native.claim(claim, KINDS.lease, holder())))
  for (const claim of imports) {
    t.true(native.info(claim).readOnly)
    t.deepEqual(read(claim, 0, 1), [3])
    refused(t, 'state', 'read-only', () => native.write(claim, 0, Uint8Array.of(4)))
    refused(t, 'state', 'read-only', () => native.fill(claim, 0, 1, 4))
    refused(t, 'state', 'read-only', () => native.copy(claim, 0, allocation, 0, 1))
    refused(t, 'state', 'read-only', () => native.view(claim, 0, 1))
  }
  t.is(mappingLines().filter((line) => line.includes(' r--s ')).length, 1)
  t.is(mappingLines().filter((line) => line.includes(' rw-s ')).length, 2)
  endAll(t, allocation, descriptor, own, ...imports)
})

test.serial('host and shared memory are private: usable, never exported', (t) => {
  for (const usm of [USM.host, USM.shared]) {
    const allocation = allocate(4096, { usm })
    native.write(allocation, 4095, Uint8Array.of(8))
    t.deepEqual(read(allocation, 4094, 2), [0, 8])
    t.is(native.info(allocation).usm, usm)
    refused(t, 'state', 'not-shareable', () => get(allocation))
    refused(t, 'state', 'not-shareable', () => native.exportDescriptor(allocation, holder()))
    t.deepEqual(usage(), { descriptors: 0, mappings: 0 })
    endAll(t, allocation)
    refused(t, 'argument', 'not-shareable', () => allocate(4096, { usm, readOnly: true }))
  }
})

test.serial('sizes that can never be had are refused', (t) => {
  refused(t, 'argument', 'zero-size', () => allocate(0))
  for (const usm of Object.values(USM)) {
    for (const nbytes of [2 ** 50, Number.MAX_SAFE_INTEGER]) {
      const error = refused(t, 'driver', 'system-call-failed', () => allocate(nbytes, { usm }))
      t.is(error.result, 'ENOMEM')
    }
  }
  for (const nbytes of [-1, 0.5, 2 ** 53, NaN]) refused(t, 'argument', 'invalid-argument', () => allocate(nbytes))
})

test.serial('malformed vendor handles are refused', (t) => {
  const { allocation, handle, descriptor } = exporter(4096)
  const malformed = [handle.slice(0, 31), handle.slice(0, 1), Uint8Array.of(...handle, 0), forge(handle, { nbytes: 0n })]
  for (const flags of [2, 3, 0x8000_0000]) malformed.push(forge(handle, { flags }))
  for (const bytes of malformed) {
    refused(t, 'argument', 'invalid-vendor-handle', () => open(bytes, 4096, { descriptor }))
  }
  endAll(t, allocation, descriptor)
})

/** Refused, and no step after the checks was reached. */
function refusedBeforeMapping(t: ExecutionContext, reason: string, handle: Uint8Array, nbytes: number, descriptor: number): void {
  const before = usage()
  native.setFault?.('open.map', 1)
  refused(t, 'descriptor', reason, () => open(handle, nbytes, { descriptor }))
  native.setFault?.('open.map', 0)
  t.deepEqual(usage(), before)
}

test.serial('a handle that claims other than its descriptor is refused before anything is mapped', (t) => {
  const { allocation, handle, descriptor } = exporter(4096)
  const other = exporter(4096)
  const readOnly = exporter(4096, true)
  const { inode, device } = parse(handle)
  const cases: [string, Partial<HandleFields>, number][] = [
    ['descriptor-foreign', { inode: inode + 1n }, 4096],
    ['descriptor-foreign', { device: device + 1n }, 4096],
    ['descriptor-unsealed', { flags: 1 }, 4096],
    ['descriptor-too-small', { nbytes: 4097n }, 4096],
    ['descriptor-too-small', { nbytes: 0xffff_ffff_ffff_ffffn }, 4096],
    ['descriptor-too-small', {}, 4097],
    ['descriptor-too-small', {}, Number.MAX_SAFE_INTEGER],
  ]
  for (const [reason, fields, nbytes] of cases) refusedBeforeMapping(t, reason, forge(handle, fields), nbytes, descriptor)
  refusedBeforeMapping(t, 'descriptor-foreign', handle, 4096, other.descriptor)
  refusedBeforeMapping(t, 'descriptor-unsealed', forge(readOnly.handle, { flags: 0 }), 4096, readOnly.descriptor)
  refusedBeforeMapping(t, 'descriptor-missing', handle, 4096, 0)
  endAll(t, allocation, descriptor, other.allocation, other.descriptor, readOnly.allocation, readOnly.descriptor)
})

test.serial('descriptors of every other kind are refused before anything is mapped', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'usm-ipc-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const regular = join(directory, 'file')
  writeFileSync(regular, new Uint8Array(4096))
  for (const path of [regular, directory, '/dev/null', '/proc/self/maps', '/proc/self/ns/pid']) {
    const fd = openSync(path, 'r')
    const { dev, ino } = fstatSync(fd, { bigint: true })
    const descriptor = native.adoptDescriptor(fd, false, holder())
    const handle = forge(new Uint8Array(32), { device: dev, inode: ino, nbytes: 1n, descriptor: fd, flags: 0 })
    refusedBeforeMapping(t, 'descriptor-wrong-kind', handle, 1, descriptor)
    endAll(t, descriptor)
  }
})

test.serial('a file that could be shrunk under its mapping is refused', (t) => {
  try {
    accessSync('/dev/shm', constants.W_OK)
  } catch {
    t.log('skipped: no /dev/shm to write to')
    t.pass()
    return
  }
  const directory = mkdtempSync('/dev/shm/usm-ipc-')
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const fd = openSync(join(directory, 'file'), 'w+')
  ftruncateSync(fd, 4096)
  const { dev, ino } = fstatSync(fd, { bigint: true })
  const descriptor = native.adoptDescriptor(fd, false, holder())
  const handle = forge(new Uint8Array(32), { device: dev, inode: ino, nbytes: 4096n, descriptor: fd, flags: 0 })
  refusedBeforeMapping(t, 'descriptor-unsealed', handle, 4096, descriptor)
  endAll(t, descriptor)
})

test.serial('a mapping that is smaller than the allocation is closed again', (t) => {
  const { allocation, handle, descriptor } = exporter(8192)
  const before = usage()
  const small = forge(handle, { nbytes: 4096n })
  refused(t, 'driver', 'extent-mismatch', () => open(small, 8192, { descriptor }))
  refused(t, 'driver', 'extent-mismatch', () => open(small, 4097, { descriptor, id: newId() }))
  t.deepEqual(usage(), before)
  endAll(t, open(small, 4096, { descriptor }), allocation, descriptor)
})

test.serial('a descriptor has one owner', (t) => {
  const { allocation, descriptor } = exporter(4096)
  const fd = native.descriptorNumber(descriptor)
  refused(t, 'state', 'descriptor-owned', () => native.adoptDescriptor(fd, false, holder()))
  refused(t, 'state', 'descriptor-owned', () => native.adoptDescriptor(parse(get(allocation)).descriptor, false, holder()))
  const duplicate = native.adoptDescriptor(fd, true, holder())
  t.not(native.descriptorNumber(duplicate), fd)
  t.is(fstatSync(native.descriptorNumber(duplicate)).ino, fstatSync(fd).ino)
  endAll(t, descriptor)
  for (const isDuplicate of [false, true]) {
    const error = refused(t, 'driver', 'system-call-failed', () => native.adoptDescriptor(UNUSED_FD, isDuplicate, holder()))
    t.is(error.result, 'EBADF')
  }
  const taken = openSync('/dev/null', 'r')
  const adopted = native.adoptDescriptor(taken, false, holder())
  t.is(native.descriptorNumber(adopted), taken)
  endAll(t, duplicate, allocation, adopted)
  for (const none of [-1, 0.5, 2 ** 31]) {
    refused(t, 'argument', 'invalid-argument', () => native.adoptDescriptor(none, true, holder()))
  }
})

test.serial('the process is what /proc says', (t) => {
  const identity = native.processIdentity()
  const fields = readFileSync('/proc/self/stat', 'utf8').replace(/^.*\)/s, 'x').split(' ')
  t.is(identity.pid, process.pid)
  t.is(identity.startTime, BigInt(fields[20]!))
  t.is(identity.pidNamespace, statSync('/proc/self/ns/pid', { bigint: true }).ino)
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().replaceAll('-', '')
  t.is(Buffer.from(identity.bootId).toString('hex'), bootId)
})

test.serial('a descriptor is fetched from the process that is meant, or not at all', (t) => {
  const { pid, startTime, pidNamespace } = native.processIdentity()
  const { allocation, handle } = exporterOnly()
  const fd = parse(handle).descriptor
  refused(t, 'peer', 'exporter-gone', () => native.descriptorOf(pid, startTime + 1n, pidNamespace, fd, holder()))
  refused(t, 'peer', 'other-pid-namespace', () => native.descriptorOf(pid, startTime, pidNamespace + 1n, fd, holder()))
  const dead = spawnSync(process.execPath, ['-e', '']).pid
  refused(t, 'peer', 'exporter-gone', () => native.descriptorOf(dead, 1n, pidNamespace, fd, holder()))
  for (const none of [0, -1, 0.5, 2 ** 31]) {
    t.is(refusal(() => native.descriptorOf(none, startTime, pidNamespace, fd, holder())), 'argument')
  }
  refused(t, 'argument', 'invalid-argument', () => native.descriptorOf(pid, -1n, pidNamespace, fd, holder()))
  refused(t, 'argument', 'invalid-argument', () => native.descriptorOf(pid, startTime, 1n << 64n, fd, holder()))
  try {
    const descriptor = native.descriptorOf(pid, startTime, pidNamespace, fd, holder())
    const mapping = open(handle, 4096, { descriptor })
    const closed = refused(t, 'driver', 'system-call-failed', () =>
      native.descriptorOf(pid, startTime, pidNamespace, UNUSED_FD, holder()),
    )
    t.is(closed.result, 'EBADF')
    endAll(t, descriptor, mapping)
  } catch (error) {
    if ((error as { result?: string }).result !== 'EPERM') throw error
    t.log('skipped: this system does not allow pidfd_getfd')
  }
  endAll(t, allocation)

  function exporterOnly(): { allocation: number; handle: Uint8Array } {
    const allocation = allocate(4096)
    return { allocation, handle: get(allocation) }
  }
  function refusal(run: () => unknown): string | undefined {
    return (t.throws(run, { any: true }) as { kind?: string }).kind
  }
})
