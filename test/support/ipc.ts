/** How the memory under test is made to be exported; children inherit it. CUDA has three ways. */
import type { AllocationOptions } from '../../host/index.ts'
import { variable } from '../../host/variables.ts'

export type IpcChoice = NonNullable<AllocationOptions['ipc']>

export function ipcOption(): { ipc?: IpcChoice } {
  const ipc = variable('USM_IPC_TEST_IPC') as IpcChoice | undefined
  return ipc === undefined ? {} : { ipc }
}

/** Whether mappings outlive the exporter's memory by the driver's contract. */
export function mappingsOutlive(): boolean {
  const { ipc = 'fd' } = ipcOption()
  return ipc === 'fd'
}

/** On a real GPU (`npm run test:gpu`), or on the software driver. */
export const onGpu = variable('USM_IPC_TEST_GPU') === '1'
