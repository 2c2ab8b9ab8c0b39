/** Processes of both kinds: ours (the package) and bare ones (a C++ program over the loader). */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { DEADLINE, decode, parse, startChild, type Child } from '../support/child.ts'
import type { Descriptor } from '../../host/index.ts'
import type { Answer, Step } from './protocol.ts'

export type Form = 'classic' | 'opaque' | 'opaque-mirror'

export interface Party extends Child {
  /** The answer, with the descriptor that came beside it. */
  do(step: Step, beside?: Descriptor): Promise<Answer & { descriptor?: Descriptor }>
  end(): Promise<void>
}

export function softwareDriver(form: Form): Record<string, string> {
  return { USM_IPC_SOFTWARE_DRIVER: '1', USM_IPC_ZE_HANDLES: form }
}

export function party(form: Form, options: { uid?: number } = {}): Party {
  const child = startChild(new URL('children/party.ts', import.meta.url), { env: softwareDriver(form), ...options })
  const ask: Party['do'] = async (step, beside) => {
    try {
      const bytes = new TextEncoder().encode(JSON.stringify(step))
      await child.channel.send(bytes, { timeoutMs: DEADLINE, descriptors: beside === undefined ? [] : [beside] })
      const frame = await child.channel.receive({ timeoutMs: DEADLINE })
      const answer = parse<Answer>(frame)
      return frame.descriptors[0] === undefined ? answer : { ...answer, descriptor: frame.descriptors[0] }
    } catch (error) {
      const { stderr } = await child.kill()
      throw new Error(`the party is gone: ${stderr}`, { cause: error })
    }
  }
  return Object.assign(child, {
    do: ask,
    async end() {
      await ask({ do: 'end' })
      await child.exited
      child.channel.close()
    },
  })
}

export interface Bare {
  pid: number
  /** What follows "ok", or what follows "error". */
  ask(line: string): Promise<{ ok: string } | { error: string }>
  /** What follows "ok". */
  must(line: string): Promise<string>
  end(): Promise<void>
}

export function bare(program: string, loader: string, form: Form, options: { uid?: number } = {}): Bare {
  const child = spawn(program, [loader], {
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: DEADLINE,
    env: { ...process.env, ...softwareDriver(form) },
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ask: Bare['ask'] = async (line) => {
    child.stdin.write(line + '\n')
    const { value, done } = await lines.next()
    if (done === true) throw new Error(`the bare program has ended at: ${line}`)
    const [, status, rest] = /^(ok|error) ?(.*)$/.exec(value as string)!
    return status === 'ok' ? { ok: rest! } : { error: rest! }
  }
  return {
    pid: child.pid!,
    ask,
    async must(line) {
      const answer = await ask(line)
      if ('error' in answer) throw new Error(`bare: ${line}: ${answer.error}`)
      return answer.ok
    },
    async end() {
      const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
      child.stdin.end()
      await ended
    },
  }
}

/** Raw handles, as hexadecimal digits or base64. */
export function withFields(raw: Uint8Array, fields: { fd?: number; pid?: number }, form: Form): Uint8Array {
  const changed = raw.slice()
  const view = new DataView(changed.buffer)
  if (fields.fd !== undefined) {
    view.setUint32(0, fields.fd, true)
    if (form === 'opaque-mirror') view.setUint32(22, fields.fd, true)
  }
  if (fields.pid !== undefined && form !== 'classic') view.setUint32(16, fields.pid, true)
  return changed
}

export const toHex = (raw: Uint8Array): string => Buffer.from(raw).toString('hex')
export const fromHex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'))
export const fdOf = (raw: Uint8Array): number => new DataView(raw.buffer, raw.byteOffset).getInt32(0, true)
export const bytesOf = (answer: Answer): Uint8Array => decode(answer.raw!)
