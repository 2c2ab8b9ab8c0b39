/** A process of ours on the sycl backend, driven from here. */
import type { Descriptor } from '../../../host/index.ts'
import { parse, say, startChild, DEADLINE, type Exit } from '../../support/child.ts'
import type { Reply, Request } from './protocol.ts'
import { ourEnvironment, type Choice } from './runtime.ts'

export interface Received {
  /** What came with the reply. It is closed with the party. */
  descriptor: Descriptor | undefined
}

export interface Party {
  readonly pid: number
  /** Its reply, an error of ours included. `beside` travels with the request, if it is given. */
  ask(request: Request, beside?: number | Descriptor): Promise<Reply & Received>
  /** A reply that must not be an error. */
  do(request: Request, beside?: number | Descriptor): Promise<Reply & Received>
  end(): Promise<Exit>
  kill(): Promise<Exit>
}

export function startParty(choice: Choice, env: Record<string, string> = {}, pidNamespace = false): Party {
  const script = pidNamespace ? '../children/in_pid_namespace.ts' : '../children/party.ts'
  const child = startChild(new URL(script, import.meta.url), { env: { ...ourEnvironment(choice), ...env } })
  const received: Descriptor[] = []
  const ask = async (request: Request, beside?: number | Descriptor): Promise<Reply & Received> => {
    try {
      const bytes = new TextEncoder().encode(JSON.stringify(request))
      await child.channel.send(bytes, { timeoutMs: DEADLINE, ...(beside === undefined ? {} : { descriptors: [beside] }) })
      const frame = await child.channel.receive({ timeoutMs: DEADLINE })
      received.push(...frame.descriptors)
      return { ...parse<Reply>(frame), descriptor: frame.descriptors[0] }
    } catch (error) {
      const { stderr, code, signal } = await child.kill()
      throw new Error(`the party is gone (${code ?? signal}) at ${request.do}: ${stderr}`, { cause: error })
    }
  }
  const finish = (exit: Exit): Exit => {
    for (const descriptor of received) descriptor.close()
    child.channel.close()
    return exit
  }
  return {
    pid: child.pid,
    ask,
    async do(request, beside) {
      const reply = await ask(request, beside)
      if (reply.error) throw new Error(`${request.do}: ${JSON.stringify(reply.error)}`)
      return reply
    },
    async end() {
      await say(child.channel, { do: 'end' } satisfies Request)
      return finish(await child.exited)
    },
    async kill() {
      return finish(await child.kill())
    },
  }
}
