/** A worker that does what it is told, one message at a time. */
import { parentPort } from 'node:worker_threads'
import { addon } from '../../../host/addon.ts'
import { IPCMemoryHandle, MemoryUSMDevice, MemoryUSMHost, ledger, type UsmMemory } from '../../../host/index.ts'
import { asForeign } from '../../support/forge.ts'
import { ipcOption } from '../../support/ipc.ts'

export type Task =
  | { do: 'cycle'; times: number }
  | { do: 'hold' }
  | { do: 'exit' }
  | { do: 'export' }
  | { do: 'open'; bytes: Uint8Array }
  | { do: 'close' }
  | { do: 'touch'; claim: number }

const device = process.env['USM_IPC_TEST_SELECTOR']!
const held: { close(): void }[] = []
const views: Uint8Array[] = []

function keep<T extends { close(): void }>(thing: T): T {
  held.push(thing)
  return thing
}

function holdEverything(): void {
  const memory = keep(new MemoryUSMDevice(8192, { device, ...ipcOption() }))
  const host = keep(new MemoryUSMHost(4096, { device }))
  const handle = keep(new IPCMemoryHandle(memory))
  const [descriptor] = handle.descriptors
  keep(IPCMemoryHandle.open(handle.toBytes(), device))
  const mapped = keep(IPCMemoryHandle.open(asForeign(handle.toBytes()), device, undefined, { descriptor: descriptor! }))
  // A device's own memory has no view.
  for (const viewed of device === 'host' ? [memory, mapped] : [host, host]) views.push(viewed.view())
}

function cycle(): void {
  using memory = new MemoryUSMDevice(4096, { device, ...ipcOption() })
  using handle = new IPCMemoryHandle(memory)
  using self = IPCMemoryHandle.open(handle.toBytes(), device)
  using mapped = IPCMemoryHandle.open(asForeign(handle.toBytes()), device, undefined, { descriptor: handle.descriptors[0]! })
  mapped.fill(5)
  const byte = new Uint8Array(1)
  ;(self as UsmMemory).copyTo(byte)
  if (byte[0] !== 5) throw new Error('the mappings are not of the same memory')
}

function codeOf(action: () => unknown): string {
  try {
    return String(action())
  } catch (error) {
    return (error as { reason?: string }).reason ?? String(error)
  }
}

function run(task: Task): unknown {
  switch (task.do) {
    case 'cycle':
      for (let i = 0; i < task.times; i++) cycle()
      return { live: ledger().live }
    case 'hold':
      holdEverything()
      return { live: ledger().live, environments: ledger({ process: true }).environments }
    case 'exit':
      return process.exit(3)
    case 'export': {
      const memory = keep(new MemoryUSMDevice(4096, { device, ...ipcOption() }))
      memory.fill(0x42)
      const handle = keep(new IPCMemoryHandle(memory))
      return { bytes: handle.toBytes(), claim: ledger().records[0]!.token }
    }
    case 'open': {
      const mapped = keep(IPCMemoryHandle.open(task.bytes, device))
      const byte = new Uint8Array(1)
      mapped.copyTo(byte)
      mapped.copyFrom(new Uint8Array([byte[0]! + 1]), 1)
      return { path: mapped.path, byte: byte[0] }
    }
    case 'close':
      for (const thing of held.splice(0)) thing.close()
      return { live: ledger().live }
    case 'touch': {
      const native = addon()
      const bytes = new Uint8Array(16)
      return [
        codeOf(() => native.end(task.claim)), codeOf(() => native.info(task.claim)), codeOf(() => native.read(task.claim, 0, bytes)),
        codeOf(() => native.write(task.claim, 0, bytes)), codeOf(() => native.fill(task.claim, 0, 1, 0)),
        codeOf(() => native.view(task.claim, 0, 1)), codeOf(() => native.claim(task.claim, 2, {})), codeOf(() => native.put(task.claim)),
        codeOf(() => native.get(task.claim, 0, bytes, 0, 16, 0, 16, false)), codeOf(() => native.exportDescriptor(task.claim, {})),
        codeOf(() => native.descriptorNumber(task.claim)), codeOf(() => native.copy(task.claim, 0, task.claim, 0, 1)),
      ]
    }
  }
}

parentPort!.on('message', (task: Task) => {
  try {
    parentPort!.postMessage({ result: run(task) })
  } catch (error) {
    parentPort!.postMessage({ error: String((error as Error).stack) })
  }
})
