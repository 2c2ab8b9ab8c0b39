import { FdChannel, IPCMemoryHandle, ledger, type MemoryIPCDevice } from '../../host/index.ts'
import { decode, encode, parse, say } from './child.ts'
import type { Answer, Request } from './importer.ts'

const channel = FdChannel.adopt(3)
let memory: MemoryIPCDevice | undefined
let selector = ''

function answer(request: Request): Answer {
  switch (request.do) {
    case 'open':
      selector = request.selector
      memory = IPCMemoryHandle.open(decode(request.bytes), selector, request.nbytes, { channel })
      return { nbytes: memory.nbytes, readOnly: memory.readOnly }
    case 'read': {
      const bytes = new Uint8Array(request.nbytes)
      memory!.copyTo(bytes, request.offset)
      return { bytes: encode(bytes) }
    }
    case 'write':
      memory!.copyFrom(decode(request.bytes), request.offset)
      return {}
    case 'try':
      try {
        IPCMemoryHandle.open(decode(request.bytes), selector, undefined, { channel }).close()
        return { code: 'ok' }
      } catch (error) {
        return { code: (error as { code?: string }).code ?? String(error) }
      }
    case 'end':
      memory!.close()
      for (const descriptor of channel.received) descriptor.close()
      return { live: ledger().live, resources: ledger({ process: true }).resources.length }
  }
}

for (let ended = false; !ended; ) {
  const request = parse<Request>(await channel.receive())
  let reply: Answer
  try {
    reply = answer(request)
  } catch (error) {
    reply = { error: String((error as { code?: string }).code ?? error) }
  }
  await say(channel, reply)
  ended = request.do === 'end'
}
channel.close()
