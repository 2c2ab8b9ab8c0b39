/** Makes one of everything, closes nothing, forgets it all, and says what garbage collection left of it. */
import { openSync } from 'node:fs'
import { Descriptor, FdChannel, IPCMemoryHandle, MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared, ledger } from '../../../host/index.ts'
import { startChannelThread } from '../../support/child.ts'
import { counts, openDescriptors } from '../../support/counts.ts'
import { asForeign } from '../../support/forge.ts'
import { collectUntil } from '../../support/gc.ts'

const everything = (): Record<string, number> => ({ ...counts(), descriptors: openDescriptors() })

async function dropped(): Promise<void> {
  const memory = new MemoryUSMDevice(4096, { device: 'host' })
  new MemoryUSMHost(4096, { device: 'host' })
  new MemoryUSMShared(4096, { device: 'host' })
  const handle = new IPCMemoryHandle(memory)
  IPCMemoryHandle.open(handle.toBytes(), 'host')
  const mapped = IPCMemoryHandle.open(asForeign(handle.toBytes()), 'host', undefined, { descriptor: handle.descriptors[0]! })
  const raw = handle.toBytes().slice(168 - 16, 168 + 16)
  memory.view()
  mapped.view()
  Descriptor.adopt(openSync('/dev/null', 'r'))
  Descriptor.duplicate(0)
  const [here, there] = FdChannel.pair()
  await here.send(raw, { descriptors: handle.descriptors })
  await there.receive()
}

await startChannelThread()
asForeign(new Uint8Array(200))
await collectUntil(() => false, 5)
const before = everything()
await dropped()
const held = everything()
const collected = await collectUntil(() => JSON.stringify(everything()) === JSON.stringify(before), 500)
console.log(JSON.stringify({ before, held, after: everything(), collected, records: ledger().records }))
