/** Two devices of two tiles each. */
import test from 'ava'
import { IPCMemoryHandle, MemoryUSMDevice, MemoryUSMHost, listDevices, type MemoryIPCDevice } from '../../host/index.ts'
import { counts } from '../support/counts.ts'
import { asForeign } from '../support/forge.ts'
import { refused } from '../support/refused.ts'

const MEMORY = 3 * 2 ** 30
Object.assign(process.env, {
  USM_IPC_SOFTWARE_DRIVER: '1', USM_IPC_ZE_DEVICES: '2', USM_IPC_ZE_SUBDEVICES: '2', USM_IPC_ZE_MEMORY: String(MEMORY),
})
const NBYTES = 5000
const [first, second] = ['level_zero:0', 'level_zero:1']

test.afterEach((t) => {
  t.deepEqual(counts(), { memfds: 0, mappings: 0, live: 0, claims: 0, resources: 0 })
})

function pattern(seed: number): Uint8Array {
  return Uint8Array.from({ length: NBYTES }, (_, i) => i * 7 + seed)
}

function filled(device: string, seed: number): MemoryUSMDevice {
  const memory = new MemoryUSMDevice(NBYTES, { device })
  memory.copyFrom(pattern(seed))
  return memory
}

function bytesOf(memory: MemoryUSMDevice | MemoryUSMHost): Uint8Array {
  const bytes = new Uint8Array(memory.nbytes)
  memory.copyTo(bytes)
  return bytes
}

test.serial('each has a UUID of its own, and says that it is software', (t) => {
  const devices = listDevices().filter(({ backend }) => backend === 'level_zero')
  t.deepEqual(devices.map(({ selector, type, software, memory }) => ({ selector, type, software, memory })), [
    { selector: first, type: 'gpu', software: true, memory: MEMORY },
    { selector: second, type: 'gpu', software: true, memory: MEMORY },
  ])
  t.is(new Set(devices.map(({ uuid }) => uuid)).size, 2)
})

test.serial('what one has exported, the other does not open', (t) => {
  using memory = filled(first, 1)
  using handle = new IPCMemoryHandle(memory)
  const descriptor = handle.descriptors[0]!
  refused(() => IPCMemoryHandle.open(asForeign(handle.toBytes()), second, undefined, { descriptor }), 'HandleError', 'WRONG_DEVICE', /device/)
  using mapped = IPCMemoryHandle.open(asForeign(handle.toBytes()), first, undefined, { descriptor })
  t.deepEqual(bytesOf(mapped), pattern(1))
  t.is(mapped.device.selector, first)
})

test.serial('copies go from one to the other, to host memory and back', (t) => {
  using a = filled(first, 1)
  using b = filled(second, 2)
  using host = new MemoryUSMHost(NBYTES, { device: first })
  b.copyFrom(a)
  t.deepEqual(bytesOf(b), pattern(1))
  host.copyFrom(b)
  t.deepEqual(bytesOf(host), pattern(1))
  host.fill(9)
  a.copyFrom(host)
  t.true(bytesOf(a).every((byte) => byte === 9))
})

/** Part of the memory; as another process has it, or as this one does. */
function range(memory: MemoryUSMDevice, offset: number, nbytes: number, foreign: boolean): MemoryIPCDevice {
  using handle = new IPCMemoryHandle(memory, { offset, nbytes })
  if (!foreign) return IPCMemoryHandle.open(handle.toBytes(), memory.device)
  return IPCMemoryHandle.open(asForeign(handle.toBytes()), memory.device, undefined, { descriptor: handle.descriptors[0]! })
}

test.serial('ranges of one memory overlap as those of memmove, in one mapping and across two', (t) => {
  for (const [toForeign, fromForeign] of [[false, false], [true, false], [false, true], [true, true]] as const) {
    for (const [to, from] of [[100, 103], [103, 100], [0, 0], [0, 2500], [2500, 0]] as const) {
      using memory = filled(first, 3)
      using target = range(memory, to, 2400, toForeign)
      using source = range(memory, from, 2400, fromForeign)
      t.is(target.path, toForeign ? 'mapped' : 'self')
      target.copyFrom(source)
      t.deepEqual(bytesOf(memory), pattern(3).copyWithin(to, from, from + 2400), `${from} to ${to}`)
    }
  }
})

/** No two places near each other have the same bytes. */
function noise(nbytes: number): Uint8Array {
  return new Uint8Array(Uint32Array.from({ length: Math.ceil(nbytes / 4) }, (_, i) => Math.imul(i + 1, 0x9e3779b1)).buffer, 0, nbytes)
}

test.serial('large copies and fills go in pieces', (t) => {
  const large = 150 * 2 ** 20 + 13
  using memory = new MemoryUSMDevice(large, { device: first })
  memory.fill(5)
  const bytes = new Uint8Array(large)
  memory.copyTo(bytes)
  t.is(bytes.findIndex((byte) => byte !== 5), -1)
  const source = noise(large)
  memory.copyFrom(source)
  using moved = new MemoryUSMDevice(large, { device: first })
  moved.copyFrom(memory)
  moved.copyTo(bytes)
  t.is(Buffer.compare(bytes, source), 0)
})

test.serial('large ranges overlap, too, whichever lies behind', (t) => {
  const large = 10 * 2 ** 20 + 13
  for (const [to, from] of [[7, 0], [0, 7]] as const) {
    const bytes = noise(large)
    using memory = new MemoryUSMDevice(large, { device: first })
    memory.copyFrom(bytes)
    using target = range(memory, to, large - 7, true)
    using source = range(memory, from, large - 7, false)
    target.copyFrom(source)
    const moved = new Uint8Array(large)
    memory.copyTo(moved)
    t.is(Buffer.compare(moved, bytes.copyWithin(to, from, from + large - 7)), 0)
  }
})
