/** What the contract runs on. A process has one Level Zero loader and one adapter: one backend of these a test file. */
import type { BackendUnderTest } from '../contract/types.ts'
import { IPCMemoryHandle } from '../../host/index.ts'
import { addonFolder } from './addon_folder.ts'
import { asForeign } from './forge.ts'
import { openElsewhere } from './importer.ts'
import { mappingsOutlive, onGpu, type IpcChoice } from './ipc.ts'

type Traits = Pick<BackendUnderTest, 'name' | 'variant' | 'readOnlySharing' | 'hostAddressable' | 'keepsMappings'>

function backend(selector: string, more: Traits): BackendUnderTest {
  return {
    selector,
    descriptors: 'identified',
    mappingStaysValid: true,
    ...more,
    openMapped: (handle, nbytes, options) =>
      IPCMemoryHandle.open(asForeign(handle.toBytes()), selector, nbytes, { descriptor: handle.descriptors[0]!, ...options }),
    openElsewhere: (handle, nbytes) => openElsewhere(selector, handle, nbytes),
  }
}

export const hostBackend = backend('host', { name: 'host', readOnlySharing: true, hostAddressable: true })

/** On the software driver, which is asked for before the addon loads anything. */
export function levelZeroBackend(form: 'classic' | 'opaque' | 'opaque-mirror'): BackendUnderTest {
  Object.assign(process.env, { USM_IPC_SOFTWARE_DRIVER: '1', USM_IPC_ZE_HANDLES: form })
  return backend('level_zero', { name: 'level_zero', variant: form, readOnlySharing: false, hostAddressable: false })
}

export function syclBackend(adapter: 'v1' | 'v2'): BackendUnderTest {
  Object.assign(process.env, { USM_IPC_SOFTWARE_DRIVER: '1', SYCL_UR_USE_LEVEL_ZERO_V2: adapter === 'v2' ? '1' : '0' })
  return backend('sycl', { name: 'sycl', variant: adapter, readOnlySharing: false, hostAddressable: false, keepsMappings: 64 })
}

export function cudaVariables(ipc: IpcChoice): Record<string, string> {
  return { USM_IPC_TEST_IPC: ipc, ...(onGpu ? {} : { USM_IPC_CUDA_DRIVER: `${addonFolder}/test-drivers/libcuda.so.1` }) }
}

/** On the software driver, or on the first device of a real one where `npm run test:gpu` asks for that. */
export function cudaBackend(ipc: IpcChoice): BackendUnderTest {
  Object.assign(process.env, cudaVariables(ipc))
  const made = backend('cuda', { name: 'cuda', variant: ipc, readOnlySharing: false, hostAddressable: false })
  Object.assign(made, { descriptors: ipc === 'legacy' ? 'none' : 'opaque', mappingStaysValid: mappingsOutlive() })
  // CUDA opens no legacy handle in the process that made it.
  if (ipc === 'legacy') delete made.openMapped
  return made
}
