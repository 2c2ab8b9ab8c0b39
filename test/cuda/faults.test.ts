/** Each call of the driver that an operation makes fails once: the error names it, and nothing is left. The software driver does that. */
import test, { type ExecutionContext } from 'ava'
import { IPCEvent, IPCMemoryHandle, MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared, ledger, type DriverError } from '../../host/index.ts'
import { cudaBackend } from '../support/backends.ts'
import { openDescriptors } from '../support/counts.ts'
import { asForeign } from '../support/forge.ts'
import { onGpu } from '../support/ipc.ts'
import { rawDriver } from './raw_driver.ts'

cudaBackend('legacy')
const raw = rawDriver()
const device = 'cuda'
const FUNCTIONS = [
  'cuCtxGetCurrent', 'cuCtxPushCurrent_v2', 'cuCtxSynchronize', 'cuMemGetInfo_v2', 'cuMemAlloc_v2', 'cuMemHostAlloc', 'cuMemAllocManaged', 'cuMemGetAddressRange_v2',
  'cuPointerGetAttribute', 'cuIpcGetMemHandle', 'cuIpcGetEventHandle', 'cuMemGetAllocationGranularity', 'cuMemCreate', 'cuMemAddressReserve', 'cuMemMap', 'cuMemSetAccess',
  'cuMemExportToShareableHandle', 'cuMemImportFromShareableHandle', 'cuMemGetAllocationPropertiesFromHandle', 'cuMemRetainAllocationHandle', 'cuMemPoolCreate',
  'cuMemPoolExportToShareableHandle', 'cuMemPoolImportFromShareableHandle', 'cuMemPoolExportPointer', 'cuMemPoolImportPointer', 'cuMemAllocFromPoolAsync',
  'cuStreamSynchronize', 'cuEventCreate', 'cuEventRecord', 'cuEventQuery', 'cuEventSynchronize', 'cuMemcpyHtoD_v2', 'cuMemcpyDtoH_v2', 'cuMemcpyHtoDAsync_v2', 'cuMemcpyDtoHAsync_v2',
  'cuMemcpyDtoDAsync_v2', 'cuMemsetD8Async', 'cuDeviceGetAttribute',
]
const LARGE = 9 << 20

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

const held = (): object => ({ live: ledger().live, book: ledger({ process: true }), descriptors: openDescriptors(), free: raw.freeMemory() })

function failsOnce(t: ExecutionContext, name: string, run: () => void): void {
  run() // what is made once, is
  const before = held()
  let reached = 0
  for (const call of FUNCTIONS) {
    for (let nth = 1; nth <= 40; nth++) {
      const calls = raw.calls(call)
      raw.fail(`${call}:${nth}:2`)
      let error: unknown
      try {
        run()
      } catch (thrown) {
        error = thrown
      }
      const passed = raw.calls(call) - calls
      raw.fail('')
      t.deepEqual(held(), before, `${name}: passage ${nth} of ${call} left something`)
      if (passed < nth) break // it is not called so often
      reached++
      // The raw driver's own calls (adopt) fail with errors of its own; closing reports nothing.
      if (error === undefined) continue
      const { code, call: failed, result, resultNumber } = error as DriverError
      if (code === 'CUDA_ERROR_OUT_OF_MEMORY') continue
      t.deepEqual([code, failed, result, resultNumber], ['ERR_USM_IPC_DRIVER_CALL_FAILED', call, 'CUDA_ERROR_OUT_OF_MEMORY', 2], `${name}: passage ${nth} of ${call}: ${String(error)}`)
    }
  }
  t.true(reached >= 5, `${reached} passages`)
  t.log(`${reached} passages`)
}

if (onGpu) {
  test('faults', (t) => {
    t.log('a real driver fails when it likes: these are the software driver\'s')
    t.true(onGpu)
  })
} else {
  for (const [name, run] of Object.entries(OPERATIONS)) test.serial(`out of memory at every call: ${name}`, (t) => failsOnce(t, name, run))
}
