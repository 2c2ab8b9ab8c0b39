/** One process of bench/ipc.ts with our API: the commands of bench/raw/ipc_party.h, and a channel on descriptor 3 for what travels beside handles. */
import { createInterface } from 'node:readline'
import { FdChannel, IPCMemoryHandle, MemoryUSMDevice, selectDevice } from '../host/index.ts'

const BUFFER = 1 << 16
const device = selectDevice(process.argv[2]!)
const channel = FdChannel.adopt(3)
const held: Disposable[] = []

const clock = (): number => Number(process.hrtime.bigint())

async function answer(line: string): Promise<string> {
  const [command, argument] = line.split(' ')
  const count = Number(argument)
  switch (command) {
    case 'get': {
      using memory = new MemoryUSMDevice(BUFFER, { device })
      const start = clock()
      for (let i = 0; i < count; i++) new IPCMemoryHandle(memory).close()
      return String((clock() - start) / count)
    }
    case 'make': {
      for (const each of held.splice(0)) each[Symbol.dispose]()
      for (let i = 0; i < count; i++) {
        const memory = new MemoryUSMDevice(BUFFER, { device })
        memory.fill(1)
        const handle = new IPCMemoryHandle(memory)
        held.push(handle, memory)
        await channel.send(handle.toBytes(), { descriptors: handle.descriptors })
      }
      return 'sent'
    }
    case 'first': {
      const opened = []
      let nanoseconds = 0
      for (let i = 0; i < count; i++) {
        const { bytes, descriptors: [descriptor] } = await channel.receive()
        const start = clock()
        opened.push(IPCMemoryHandle.open(bytes, device, undefined, { descriptor: descriptor! }))
        nanoseconds += clock() - start
        descriptor!.close()
      }
      for (const memory of opened) memory.close()
      return String(nanoseconds / count)
    }
    case 'cached': {
      const { bytes } = await channel.receive()
      using first = IPCMemoryHandle.open(bytes, device, undefined, { channel })
      let [open, close] = [0, 0]
      for (let i = 0; i < count; i++) {
        let start = clock()
        const memory = IPCMemoryHandle.open(bytes, device)
        open += clock() - start
        start = clock()
        memory.close()
        close += clock() - start
      }
      return `${open / count} ${close / count} ${first.path}`
    }
    case 'read': {
      using memory = new MemoryUSMDevice(count, { device })
      memory.fill(1)
      const target = new Uint8Array(count).fill(2)
      memory.copyTo(target)
      const start = clock()
      memory.copyTo(target)
      return String(clock() - start)
    }
    default:
      throw new Error(`no such command: ${command}`)
  }
}

for await (const line of createInterface({ input: process.stdin })) console.log(await answer(line))
channel.close()
