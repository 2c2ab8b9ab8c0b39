/** Envelopes whose checksums are right and whose words are not, given to another process: refused, and nothing is left there. */
import test from 'ava'
import { IPCEvent, IPCMemoryHandle, MemoryUSMDevice, ledger } from '../../host/index.ts'
import { HEADER, LAYOUTS } from '../../host/core/index.ts'
import { cudaBackend } from '../support/backends.ts'
import { withDescriptor } from '../contract/support.ts'
import { asForeign, forged, handleAt } from '../support/forge.ts'
import { refused } from '../support/refused.ts'
import { unchanged } from '../support/unchanged.ts'

const backend = cudaBackend('legacy')
const device = 'cuda'
const NBYTES = 5000
type Field = keyof typeof HEADER

const with64 = (envelope: Uint8Array, fields: Partial<Record<Field, bigint>>): Uint8Array =>
  forged(envelope, (view) => {
    for (const [field, value] of Object.entries(fields)) view.setBigUint64(HEADER[field as Field], value, true)
  })
const otherBoot = (envelope: Uint8Array): Uint8Array => forged(envelope, (view) => view.setUint8(HEADER.boot_id, view.getUint8(HEADER.boot_id) ^ 1))
const otherDevice = (envelope: Uint8Array): Uint8Array => forged(envelope, (view) => view.setUint8(HEADER.device_uuid + 15, view.getUint8(HEADER.device_uuid + 15) ^ 1))
const otherLayout = (envelope: Uint8Array, layout: number): Uint8Array => forged(envelope, (view) => view.setUint16(HEADER.layout, layout, true))
const otherHandle = (envelope: Uint8Array, byte: number): Uint8Array =>
  forged(envelope, (view, bytes) => {
    const at = handleAt(envelope)
    bytes.fill(byte, at, at + view.getUint32(at - 4, true))
  })

test.afterEach.always((t) => t.deepEqual([ledger().live, ledger({ process: true }).resources], [0, []]))

const LIES: Record<string, { make: (bytes: Uint8Array) => Uint8Array; legacy: string; fd: string; pool: string }> = {
  'a larger allocation': {
    make: (bytes) => with64(bytes, { allocation_size: 64n << 20n }),
    legacy: 'EXTENT_MISMATCH', fd: 'HANDLE_DISAGREES', pool: 'EXTENT_MISMATCH',
  },
  'a larger allocation, all of it': {
    make: (bytes) => with64(bytes, { allocation_size: 64n << 20n, nbytes: 64n << 20n }),
    legacy: 'EXTENT_MISMATCH', fd: 'HANDLE_DISAGREES', pool: 'EXTENT_MISMATCH',
  },
  'a handle of zeros': { make: (bytes) => otherHandle(bytes, 0), legacy: 'DRIVER_CALL_FAILED', fd: 'HANDLE_ZERO_SIZE', pool: 'DRIVER_CALL_FAILED' },
  'a handle of nonsense': { make: (bytes) => otherHandle(bytes, 0xab), legacy: 'DRIVER_CALL_FAILED', fd: 'SIZE_TOO_LARGE', pool: 'DRIVER_CALL_FAILED' },
  'another device': { make: otherDevice, legacy: 'WRONG_DEVICE', fd: 'WRONG_DEVICE', pool: 'WRONG_DEVICE' },
}

/** What is refused before the driver is asked needs no descriptor for that, and takes none from the channel. */
function beside(handle: IPCMemoryHandle, code: string): { withDescriptor?: IPCMemoryHandle } {
  return code === 'EXTENT_MISMATCH' || code === 'DRIVER_CALL_FAILED' ? { withDescriptor: handle } : {}
}

for (const ipc of ['legacy', 'fd', 'pool'] as const) {
  test.serial(`what is not so is not mapped: ${ipc}`, async (t) => {
    using memory = new MemoryUSMDevice(NBYTES, { device, ipc })
    using handle = new IPCMemoryHandle(memory)
    using other = new MemoryUSMDevice(NBYTES, { device, ipc })
    using opened = new IPCMemoryHandle(other)
    const importer = await backend.openElsewhere(opened)
    for (const [name, { make, [ipc]: code }] of Object.entries(LIES)) {
      t.is(await importer.tryOpen(make(handle.toBytes()), beside(handle, code)), `ERR_USM_IPC_${code}`, name)
    }
    const less = with64(handle.toBytes(), { allocation_size: 512n, nbytes: 512n })
    t.is(await importer.tryOpen(less, { withDescriptor: handle }), 'ok', 'less of the same block narrows the range, as an importer may')
    t.is(await importer.tryOpen(handle.toBytes(), { withDescriptor: handle }), 'ok', 'as it was made it opens')
    t.deepEqual(await importer.end(), { live: 0, resources: 0 })
  })

  test.serial(`nor said of memory that is open there already: ${ipc}`, async (t) => {
    using memory = new MemoryUSMDevice(NBYTES, { device, ipc })
    using handle = new IPCMemoryHandle(memory)
    const importer = await backend.openElsewhere(handle)
    for (const name of ['a larger allocation', 'a larger allocation, all of it', 'another device']) {
      const { make, [ipc]: code } = LIES[name]!
      t.is(await importer.tryOpen(make(handle.toBytes()), beside(handle, code)), `ERR_USM_IPC_${code}`, name)
    }
    t.is(await importer.tryOpen(handle.toBytes()), 'ok')
    t.deepEqual(await importer.end(), { live: 0, resources: 0 })
  })
}

test.serial('one layout said to be another', async (t) => {
  using memory = new MemoryUSMDevice(NBYTES, { device })
  using legacy = new IPCMemoryHandle(memory)
  using pooled = new MemoryUSMDevice(NBYTES, { device, ipc: 'pool' })
  using pool = new IPCMemoryHandle(pooled)
  using virtual = new MemoryUSMDevice(NBYTES, { device, ipc: 'fd' })
  using fd = new IPCMemoryHandle(virtual)
  const importer = await backend.openElsewhere(legacy)
  const tries: [string, IPCMemoryHandle, number, string][] = [
    ['legacy as pool', legacy, LAYOUTS['cuda-pool'], 'MISSING_DESCRIPTOR_ENTRY'],
    ['legacy as fd', legacy, LAYOUTS['cuda-vmm'], 'BAD_HANDLE_LENGTH'],
    ['pool as fd', pool, LAYOUTS['cuda-vmm'], 'BAD_HANDLE_LENGTH'],
    ['fd as legacy', fd, LAYOUTS['cuda'], 'BAD_HANDLE_LENGTH'],
    ['fd as pool', fd, LAYOUTS['cuda-pool'], 'BAD_HANDLE_LENGTH'],
    ['pool as legacy', pool, LAYOUTS['cuda'], 'DRIVER_CALL_FAILED'], // both have 64 bytes: the driver tells
  ]
  for (const [name, handle, layout, code] of tries) {
    t.is(await importer.tryOpen(otherLayout(asForeign(handle.toBytes()), layout)), `ERR_USM_IPC_${code}`, name)
  }
  t.deepEqual(await importer.end(), { live: 0, resources: 0 })
})

test.serial('what is of another boot, or of another machine, is refused before anything is looked for', (t) => {
  for (const ipc of ['legacy', 'fd', 'pool'] as const) {
    using memory = new MemoryUSMDevice(NBYTES, { device, ipc })
    using handle = new IPCMemoryHandle(memory)
    const bytes = otherBoot(asForeign(handle.toBytes()))
    for (const options of [{}, { allowPidfd: true }, withDescriptor(handle)]) {
      unchanged(() => refused(() => IPCMemoryHandle.open(bytes, device, undefined, options), 'HandleError', 'OTHER_BOOT', /before this machine was started, or on another one/))
    }
    t.false(handle.isClosed)
  }
})

test.serial('an event of another device', (t) => {
  using event = new IPCEvent({ device })
  for (const bytes of [event.toBytes(), asForeign(event.toBytes())]) {
    unchanged(() => refused(() => IPCEvent.open(otherDevice(bytes), device), 'HandleError', 'WRONG_DEVICE', /matched by UUID/))
  }
  t.true(event.query(), 'and this one is as it was')
})
