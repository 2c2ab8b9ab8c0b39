/** Lets every call of the software driver that an operation makes fail once. */
import assert from 'node:assert/strict'
import { ledger, type DriverError } from '../../host/index.ts'
import { openDescriptors } from '../support/counts.ts'
import { rawDriver } from './raw_driver.ts'

const FUNCTIONS = [
  'cuCtxGetCurrent', 'cuCtxPushCurrent_v2', 'cuCtxSynchronize', 'cuMemGetInfo_v2', 'cuMemAlloc_v2', 'cuMemHostAlloc', 'cuMemAllocManaged', 'cuMemGetAddressRange_v2',
  'cuPointerGetAttribute', 'cuIpcGetMemHandle', 'cuIpcOpenMemHandle_v2', 'cuIpcGetEventHandle', 'cuIpcOpenEventHandle', 'cuMemGetAllocationGranularity', 'cuMemCreate',
  'cuMemAddressReserve', 'cuMemMap', 'cuMemSetAccess', 'cuMemExportToShareableHandle', 'cuMemImportFromShareableHandle', 'cuMemGetAllocationPropertiesFromHandle',
  'cuMemRetainAllocationHandle', 'cuMemPoolCreate', 'cuMemPoolExportToShareableHandle', 'cuMemPoolImportFromShareableHandle', 'cuMemPoolExportPointer', 'cuMemPoolImportPointer',
  'cuMemPoolSetAccess', 'cuMemAllocFromPoolAsync', 'cuStreamSynchronize', 'cuStreamWaitEvent', 'cuEventCreate', 'cuEventRecord', 'cuEventQuery', 'cuEventSynchronize',
  'cuMemcpyHtoD_v2', 'cuMemcpyDtoH_v2', 'cuMemcpyHtoDAsync_v2', 'cuMemcpyDtoHAsync_v2', 'cuMemcpyDtoDAsync_v2', 'cuMemsetD8Async', 'cuDeviceGetAttribute',
]
/** No operation here calls one function more often. */
const PASSAGES = 40

/** How often something failed by the name of each function. */
export type Reached = Record<string, number>

const held = (): object => ({ live: ledger().live, book: ledger({ process: true }), descriptors: openDescriptors(), free: rawDriver().freeMemory() })

/**
 * `run` closes all that it makes, whether it succeeds or not; asserts that it leaves nothing, and that what it throws
 * names the call that failed.
 */
export function failEachCall(name: string, run: () => void): Reached {
  const raw = rawDriver()
  run() // what is made once, is
  const before = held()
  const reached: Reached = {}
  for (const call of FUNCTIONS) {
    for (let nth = 1; nth <= PASSAGES; nth++) {
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
      const where = `${name}: passage ${nth} of ${call}`
      assert.deepEqual(held(), before, `${where} left something`)
      if (passed < nth) break // it is not called so often
      assert(nth < PASSAGES, `${where}: and more`)
      reached[call] = nth
      if (error === undefined) continue // what is closed reports nothing
      const { code, call: failed, result, resultNumber } = error as DriverError
      if (code === 'CUDA_ERROR_OUT_OF_MEMORY') continue // the raw driver's own
      assert.deepEqual([code, failed, result, resultNumber], ['ERR_USM_IPC_DRIVER_CALL_FAILED', call, 'CUDA_ERROR_OUT_OF_MEMORY', 2], `${where}: ${String(error)}`)
    }
  }
  return reached
}
