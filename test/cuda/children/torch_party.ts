/** A consumer of what PyTorch shares, which closes nothing. */
import { FdChannel, openTorchStorage, type MemoryIPCDevice } from '../../../host/index.ts'
import { decode, parse, say } from '../../support/child.ts'

export type Request = { do: 'open'; handle: string; counter: string } | { do: 'drop' } | { do: 'exit' }

const channel = FdChannel.adopt(3)
let memory: MemoryIPCDevice | undefined

function act(request: Request): void {
  if (request.do === 'exit') process.exit(0)
  memory = request.do === 'drop' ? undefined : openTorchStorage({ handle: decode(request.handle), nbytes: 100, offset: 0, refCounter: { name: request.counter, offset: 0 } }, 'cuda')
}

for (;;) {
  const request = parse<Request>(await channel.receive())
  act(request)
  if (request.do === 'drop') globalThis.gc!()
  await say(channel, { isOpen: memory !== undefined })
}
