/** Another process with an event, told over its channel what to do. */
import { FdChannel, IPCEvent, IPCMemoryHandle, ledger, type MemoryIPCDevice } from '../../../host/index.ts'
import { decode, encode, parse, say } from '../../support/child.ts'
import { rawDriver } from '../raw_driver.ts'

export type Request =
  | { do: 'open' | 'wait'; bytes: string; timeoutMs?: number }
  | { do: 'query' | 'close' | 'make' | 'count' }
  | { do: 'record'; sleepMs: number }
  | { do: 'wait on'; sleepMs?: number }
  | { do: 'open memory'; bytes: string; timeoutMs: number }

const device = 'cuda'
const channel = FdChannel.adopt(3)
const raw = rawDriver()
let event: IPCEvent | undefined
let memory: MemoryIPCDevice | undefined

async function answer(request: Request): Promise<unknown> {
  switch (request.do) {
    case 'open':
      event = IPCEvent.open(decode(request.bytes), device)
      return event.query()
    case 'make':
      event = new IPCEvent({ device })
      return encode(event.toBytes())
    case 'query':
      return event!.query()
    case 'wait':
      await event!.wait({ timeoutMs: request.timeoutMs ?? 30_000 })
      return event!.query()
    case 'record': {
      const stream = raw.streamCreate(1)
      raw.sleepOn(stream, request.sleepMs)
      event!.record(stream)
      return event!.query()
    }
    case 'wait on': {
      const stream = raw.streamCreate(1)
      event!.waitOn(stream)
      return raw.streamQuery(stream)
    }
    case 'open memory': {
      memory = IPCMemoryHandle.open(decode(request.bytes), device, undefined, { channel, eventTimeoutMs: request.timeoutMs })
      const bytes = new Uint8Array(1)
      memory.copyTo(bytes)
      memory.close()
      return bytes[0]
    }
    case 'count':
      return { live: ledger().live, resources: ledger({ process: true }).resources }
    case 'close':
      event?.close()
      return null
  }
}

for (;;) {
  const request = parse<Request>(await channel.receive())
  let reply: object
  try {
    reply = { value: await answer(request) }
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    reply = { error: code ?? message }
  }
  await say(channel, reply)
}
