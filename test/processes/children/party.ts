/**
 * Either side of a share, for tests that kill it: does one step after another, each when the other side asks for it, and
 * then stays in what it does (reading, writing, waiting) until it is killed.
 */
import { FdChannel, IPCMemoryHandle, MemoryUSMDevice, getMemHandle } from '../../../host/index.ts'
import { DEADLINE, encode, parse, say } from '../../support/child.ts'
import { NBYTES, type Reply, type Step } from '../protocol.ts'

const control = FdChannel.adopt(3)
let memory: MemoryUSMDevice | undefined
let handle: IPCMemoryHandle | undefined
let received: Uint8Array | undefined
let data: FdChannel | undefined

async function run(step: Step): Promise<Reply> {
  switch (step) {
    case 'export':
      memory = new MemoryUSMDevice(NBYTES, { device: 'host' })
      memory.fill(1)
      handle = new IPCMemoryHandle(memory)
      return {}
    case 'send':
      await data!.send(handle!.toBytes(), { descriptors: handle!.descriptors, timeoutMs: DEADLINE })
      return {}
    case 'receive':
      received = (await data!.receive({ timeoutMs: DEADLINE })).bytes
      return {}
    case 'open':
      memory = IPCMemoryHandle.open(received!, 'host', undefined, { channel: data! })
      return {}
    case 'check': {
      const bytes = new Uint8Array(NBYTES)
      memory!.copyTo(bytes)
      return { values: [...new Set(bytes)] }
    }
    case 'bytes':
      return { bytes: encode(getMemHandle(memory!)) }
    case 'close':
      handle?.close()
      memory!.close()
      return {}
    default:
      return {}
  }
}

/** For ever: the test kills this. */
function loop(step: 'read' | 'write'): void {
  const bytes = new Uint8Array(NBYTES)
  const turn = (): void => {
    for (let i = 0; i < 20; i++) {
      if (step === 'read') memory!.copyTo(bytes)
      else memory!.fill(1 + (i & 1))
    }
    setImmediate(turn)
  }
  turn()
}

const first = await control.receive({ timeoutMs: DEADLINE })
data = FdChannel.adopt(first.descriptors[0]!)
for (;;) {
  const { step } = parse<{ step: Step }>(await control.receive())
  if (step === 'read' || step === 'write') loop(step)
  await say(control, await run(step))
  if (step === 'exit') break
}
control.close()
data.close()
