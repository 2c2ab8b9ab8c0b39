/** A consumer of PyTorch's kind: opens a share, reads, and closes when it is told to. */
import { FdChannel, ledger, openTorchStorage, type MemoryIPCDevice } from '../../../host/index.ts'
import { decode, encode, parse, say } from '../../support/child.ts'

export interface Request {
  do: 'open' | 'close' | 'drop' | 'exit'
  handle?: string
  nbytes?: number
  offset?: number
  counter?: [string, number]
  event?: string
  asTuple?: boolean
}

export interface Answer {
  bytes?: string
  error?: string
  live?: number
}

const channel = FdChannel.adopt(3)
let memory: MemoryIPCDevice | undefined

function answer(request: Request): Answer {
  switch (request.do) {
    case 'open': {
      const [handle, event] = [decode(request.handle!), request.event === undefined ? undefined : decode(request.event)]
      const [name, index] = request.counter!
      memory = request.asTuple
        ? openTorchStorage([0, handle, request.nbytes!, request.offset!, name, index, event ?? new Uint8Array(64), event !== undefined], 'cuda')
        : openTorchStorage({ handle, nbytes: request.nbytes!, offset: request.offset!, refCounter: { name, offset: index }, ...(event && { event, eventSyncRequired: true }) })
      const bytes = new Uint8Array(memory.nbytes)
      memory.copyTo(bytes)
      return { bytes: encode(bytes) }
    }
    case 'close':
      memory!.close()
      memory!.close()
      return { live: ledger().live }
    case 'exit':
      return process.exit(0)
    case 'drop':
      memory = undefined
      return {}
  }
}

for (;;) {
  let reply: Answer
  try {
    const request = parse<Request>(await channel.receive())
    reply = answer(request)
    if (request.do === 'drop') globalThis.gc!()
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    reply = { error: code ?? message }
  }
  await say(channel, reply)
}
