/** Each call of the driver that an operation makes fails once: the error names it, and nothing is left. The software driver does that. */
import test from 'ava'
import { IPCEvent, IPCMemoryHandle, MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared } from '../../host/index.ts'
import { cudaBackend } from '../support/backends.ts'
import { encode, hear, say, startChild } from '../support/child.ts'
import { asForeign } from '../support/forge.ts'
import { onGpu } from '../support/ipc.ts'
import type { Answer, Request } from './children/fault_party.ts'
import { failEachCall, type Reached } from './fail_each_call.ts'
import { rawDriver } from './raw_driver.ts'

cudaBackend('legacy')
const raw = rawDriver()
const device = 'cuda'
const LARGE = 9 << 20

/** What opening each of them in another process cannot do without. */
const OPENS = {
  legacy: ['cuIpcOpenMemHandle_v2'],
  fd: ['cuMemImportFromShareableHandle', 'cuMemAddressReserve', 'cuMemMap', 'cuMemSetAccess'],
  pool: ['cuMemPoolImportFromShareableHandle', 'cuMemPoolImportPointer'],
}

type Ipc = 'legacy' | 'fd' | 'pool'

/** Everything that is made in it is closed in it, whether it succeeds or not. */
const OPERATIONS: Record<string, () => void> = {
  ...Object.fromEntries((['legacy', 'fd', 'pool'] as Ipc[]).map((ipc) => [`allocate ${ipc}`, () => {
    using memory = new MemoryUSMDevice(5000, { device, ipc })
    memory.fill(1)
  }])),
  ...Object.fromEntries((['legacy', 'fd', 'pool'] as Ipc[]).map((ipc) => [`export ${ipc}`, () => {
    using memory = new MemoryUSMDevice(5000, { device, ipc })
    using handle = new IPCMemoryHandle(memory)
    handle.descriptors.forEach((descriptor) => descriptor.isClosed)
  }])),
  ...Object.fromEntries((['fd', 'pool'] as Ipc[]).map((ipc) => [`open ${ipc}`, () => {
    using memory = new MemoryUSMDevice(5000, { device, ipc })
    using handle = new IPCMemoryHandle(memory)
    using mapped = IPCMemoryHandle.open(asForeign(handle.toBytes()), device, undefined, { descriptor: handle.descriptors[0]! })
    mapped.copyTo(new Uint8Array(10))
  }])),
  'host and shared memory': () => {
    using host = new MemoryUSMHost(5000, { device })
    using shared = new MemoryUSMShared(5000, { device })
    host.copyFrom(shared)
  },
  'adopt': () => {
    const pointer = raw.alloc(2 << 20)
    try {
      using memory = MemoryUSMDevice.fromPointer(pointer, 2 << 20, { device })
      using handle = new IPCMemoryHandle(memory)
      handle.toBytes()
    } finally {
      raw.free(pointer)
    }
  },
  'copies': () => {
    using memory = new MemoryUSMDevice(LARGE, { device })
    using other = new MemoryUSMDevice(LARGE, { device })
    const bytes = new Uint8Array(LARGE)
    memory.copyFrom(bytes.subarray(0, 100))
    memory.copyFrom(bytes)
    other.copyFrom(memory)
    other.copyTo(bytes.subarray(0, 100))
    other.copyTo(bytes)
  },
  'event': () => {
    using event = new IPCEvent({ device })
    event.record()
    event.query()
    event.toBytes()
    using memory = new MemoryUSMDevice(100, { device })
    using handle = new IPCMemoryHandle(memory, { event })
    using opened = IPCMemoryHandle.open(handle.toBytes(), device)
    opened.copyTo(new Uint8Array(10))
  },
}

function sum(reached: Reached): number {
  return Object.values(reached).reduce((all, passages) => all + passages, 0)
}

if (onGpu) {
  test('faults', (t) => {
    t.log('a real driver fails when it likes: these are the software driver\'s')
    t.true(onGpu)
  })
} else {
  for (const [name, run] of Object.entries(OPERATIONS)) test.serial(`out of memory at every call: ${name}`, (t) => t.true(sum(failEachCall(name, run)) >= 5))

  test.serial('out of memory at every call: what another process shared', async (t) => {
    for (const ipc of ['legacy', 'fd', 'pool'] as const) {
      using memory = new MemoryUSMDevice(5000, { device, ipc })
      using event = new IPCEvent({ device })
      using handle = new IPCMemoryHandle(memory, { event })
      const child = startChild(new URL('children/fault_party.ts', import.meta.url))
      await say(child.channel, { memory: encode(handle.toBytes()), event: encode(event.toBytes()) } satisfies Request, handle)
      const { memory: opening, event: waiting, error } = await hear<Answer>(child.channel)
      await child.kill()
      t.is(error, undefined)
      for (const call of [...OPENS[ipc], 'cuIpcOpenEventHandle']) t.true(opening![call]! >= 1, `${ipc}: ${call}`)
      for (const call of ['cuIpcOpenEventHandle', 'cuEventQuery']) t.true(waiting![call]! >= 1, call)
    }
  })
}
