/** A child process that shares memory step by step, as it is told. */
import { FdChannel } from '../../host/index.ts'
import { DEADLINE, hear, say, startChild, type Child } from '../support/child.ts'
import type { Reply, Step } from './protocol.ts'

export const deadline = { timeoutMs: DEADLINE }

export interface Party extends Child {
  /** This side's end of the connection that memory is shared over. */
  data: FdChannel
  do(...steps: Step[]): Promise<Reply>
}

export async function party(env: Record<string, string> = {}): Promise<Party> {
  const child = startChild(new URL('children/party.ts', import.meta.url), { env })
  const [ours, theirs] = FdChannel.pair()
  await child.channel.send(new Uint8Array([0]), { descriptors: [theirs.fd], ...deadline })
  theirs.close()
  return Object.assign(child, {
    data: ours,
    async do(...steps: Step[]) {
      let reply: Reply = {}
      for (const step of steps) {
        await say(child.channel, { step })
        reply = await hear<Reply>(child.channel)
      }
      return reply
    },
  })
}
