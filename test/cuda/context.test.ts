/** Another library resets the device's primary context (cudaDeviceReset) under our feet. */
import test, { type ExecutionContext } from 'ava'
import { IPCEvent, IPCMemoryHandle, MemoryUSMDevice, ledger, type DriverError } from '../../host/index.ts'
import { cudaBackend } from '../support/backends.ts'
import { openDescriptors } from '../support/counts.ts'
import { rawDriver } from './raw_driver.ts'

cudaBackend('legacy')
const raw = rawDriver()
const device = 'cuda'

function reset(t: ExecutionContext): void {
  const memories = (['legacy', 'fd', 'pool'] as const).map((ipc) => new MemoryUSMDevice(4096, { device, ipc }))
  const handles = memories.map((memory) => new IPCMemoryHandle(memory))
  const mappings = handles.map((handle) => IPCMemoryHandle.open(handle.toBytes(), device))
  const event = new IPCEvent({ device })
  raw.resetPrimaryContext()
  const destroyed = (call: RegExp, run: () => unknown): void => {
    const { code, call: failed, result, resultNumber, message } = t.throws(run) as DriverError
    t.deepEqual([code, result, resultNumber], ['ERR_USM_IPC_DRIVER_CALL_FAILED', 'CUDA_ERROR_CONTEXT_IS_DESTROYED', 709])
    t.regex(failed, call)
    t.regex(message, /was reset .*allocate anew/)
  }
  const bytes = new Uint8Array(16)
  for (const [i, memory] of [...memories, ...mappings].entries()) {
    destroyed(/cuMemcpyHtoD/, () => memory.copyFrom(bytes))
    destroyed(/cuMemcpyDtoH/, () => memory.copyTo(bytes))
    destroyed(/cuMemsetD8Async/, () => memory.fill(1))
    destroyed(/cuMemcpyDtoDAsync/, () => memory.copyFrom(memories[(i + 1) % 3]!))
  }
  for (const memory of memories) destroyed(/cuCtxSynchronize/, () => new IPCMemoryHandle(memory))
  destroyed(/cuMem\w*/, () => new MemoryUSMDevice(4096, { device }))
  destroyed(/cuEventCreate/, () => new IPCEvent({ device }))
  destroyed(/cuEventRecord/, () => event.record())
  for (const one of [...mappings, ...handles, ...memories, event]) one.close()
  t.is(ledger().live, 0)
  t.deepEqual(ledger({ process: true }).resources, [])
  raw.retainPrimaryContext()
  using memory = new MemoryUSMDevice(4096, { device })
  memory.fill(5)
  memory.copyTo(bytes)
  t.deepEqual(bytes, new Uint8Array(16).fill(5))
}

test.serial('every call says that the context was destroyed, and closing leaves nothing', (t) => {
  reset(t) // what the driver itself keeps, it has from now on
  const before = openDescriptors()
  for (let i = 0; i < 3; i++) reset(t)
  t.true(openDescriptors() <= before, `${openDescriptors()} descriptors, ${before} before`)
})
