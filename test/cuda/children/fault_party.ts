/** Opens another process's memory and event while each call of the driver that this takes fails once. */
import { FdChannel, IPCEvent, IPCMemoryHandle } from '../../../host/index.ts'
import { decode, parse, say } from '../../support/child.ts'
import { failEachCall, type Reached } from '../fail_each_call.ts'

export interface Request {
  /** Envelopes; the memory's carries an event. */
  memory: string
  event: string
}

export interface Answer {
  memory?: Reached
  event?: Reached
  error?: string
}

const channel = FdChannel.adopt(3)
const frame = await channel.receive()
const request = parse<Request>(frame)
const [descriptor] = frame.descriptors
const target = new Uint8Array(10)

function open(): void {
  using memory = IPCMemoryHandle.open(decode(request.memory), 'cuda', undefined, descriptor === undefined ? {} : { descriptor })
  memory.copyTo(target)
}

function wait(): void {
  using event = IPCEvent.open(decode(request.event), 'cuda')
  event.query()
  event.record()
}

let answer: Answer
try {
  answer = { memory: failEachCall('open', open), event: failEachCall('wait', wait) }
} catch (error) {
  answer = { error: String(error) }
}
await say(channel, answer)
