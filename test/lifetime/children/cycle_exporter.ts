/**
 * Allocates, exports, sends and frees, over and over, to an importer of its own; tells what both processes hold along the
 * way. Arguments: selector, cycles, `own` (memory of its own) or `pooled` (memory that the runtime took out of a slab).
 */
import { FdChannel, IPCMemoryHandle, MemoryUSMDevice, selectDevice } from '../../../host/index.ts'
import { DEADLINE, hear, say, startChannelThread, startChild } from '../../support/child.ts'
import { counts, openDescriptors, type Counts } from '../../support/counts.ts'
import { ipcOption } from '../../support/ipc.ts'

export interface Held extends Counts {
  descriptors: number
}
export interface Checkpoint {
  cycle: number
  exporter: Held
  importer: Held & { sum: number; held: number }
  sum: number
}

const [, , selector, cycles, kind] = process.argv
const device = selectDevice(selector!)
const parent = FdChannel.adopt(3)
await startChannelThread()
const importer = startChild(new URL('cycle_importer.ts', import.meta.url), {
  arguments: [selector!, kind === 'pooled' ? 'answering' : ''], timeoutMs: 4 * DEADLINE,
})
let sum = 0

async function cycle(i: number): Promise<void> {
  using memory = new MemoryUSMDevice(4096, { device, ...ipcOption() })
  memory.fill(i & 0xff)
  sum += i & 0xff
  using part = kind === 'pooled'
    ? MemoryUSMDevice.fromPointer(memory.pointer, 4096, { device, owner: memory, allowNeighbours: true })
    : undefined
  if (part !== undefined && part.baseAllocation!.nbytes === 4096) throw new Error('the runtime has not pooled this')
  using handle = new IPCMemoryHandle(part ?? memory)
  // Twice at times: the second is closed before the importer, or the runtime's cache, has seen anything of it.
  if (i % 3 === 0) new IPCMemoryHandle(part ?? memory).close()
  await importer.channel.send(handle.toBytes(), { descriptors: handle.descriptors, timeoutMs: DEADLINE })
  // The pool gives the next cycle the same bytes: not before they have been read.
  if (kind === 'pooled') await hear(importer.channel)
}

async function checkpoint(cycle: number, last = false): Promise<void> {
  await importer.channel.send(new Uint8Array([last ? 0 : 1]), { timeoutMs: DEADLINE })
  const theirs = await hear<Checkpoint['importer']>(importer.channel)
  await say(parent, { cycle, exporter: { ...counts(), descriptors: openDescriptors() }, importer: theirs, sum } satisfies Checkpoint)
}

// Until the runtime's caches are full.
for (let i = 0; i < 500; i++) await cycle(i)
await checkpoint(0)
for (let i = 1; i <= Number(cycles); i++) {
  await cycle(i)
  if (i % 2000 === 0 && i < Number(cycles)) await checkpoint(i)
}
await checkpoint(Number(cycles), true)
const { code, stderr } = await importer.exited
if (code !== 0 || stderr !== '') throw new Error(`the importer ended with ${code}: ${stderr}`)
importer.channel.close()
parent.close()
