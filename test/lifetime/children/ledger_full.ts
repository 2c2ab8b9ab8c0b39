/** With a ledger of USM_IPC_LEDGER_LIMIT records: the first step that finds it full, and what is left once all is closed. */
import { IPCMemoryHandle, MemoryUSMDevice, ledger } from '../../../host/index.ts'
import { counts, openDescriptors } from '../../support/counts.ts'
import { asForeign } from '../../support/forge.ts'
import { collectUntil } from '../../support/gc.ts'

ledger()
asForeign(new Uint8Array(200)) // the wasm of the helpers
const before = { ...counts(), descriptors: openDescriptors() }
let step = 'allocate'
let code = 'none'

function steps(): void {
  try {
    using memory = new MemoryUSMDevice(4096, { device: 'host' })
    step = 'export'
    using handle = new IPCMemoryHandle(memory)
    const [descriptor] = handle.descriptors
    step = 'open self'
    using self = IPCMemoryHandle.open(handle.toBytes(), 'host')
    step = 'open mapped'
    using mapped = IPCMemoryHandle.open(asForeign(handle.toBytes()), 'host', undefined, { descriptor: descriptor! })
    step = 'view'
    memory.view()
    step = self.isClosed || mapped.isClosed ? 'closed' : 'done'
  } catch (error) {
    code = (error as { code: string }).code
  }
}

const everything = (): object => ({ ...counts(), descriptors: openDescriptors() })
steps()
// Only a view has to wait for the collector.
const now = everything()
const settled = await collectUntil(() => JSON.stringify(everything()) === JSON.stringify(before))
console.log(JSON.stringify({ step, code, settled, before, now, after: everything() }))
