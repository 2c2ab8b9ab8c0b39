/** Processes that share, as the tests of crashes drive them. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Step } from '../../../host/sharing/steps.ts'
import { alive, startChild, type Child, type ChildOptions, type Exit } from '../../support/child.ts'
import type { Command, Event, Failure, Held, Message, Survivor } from './protocol.ts'

/** What a party answered instead of doing what it was told. */
export class Refused extends Error {
  readonly code: string
  readonly verdict: string | undefined
  constructor({ name, code, verdict, message }: Failure) {
    super(`${name} ${code}: ${message}`)
    this.code = code
    this.verdict = verdict
  }
}

/** The party ended before it answered. */
export class Ended extends Error {}

export interface Death {
  exit: Exit
  /** The step that it reached, undefined where it did not. */
  step: Step | undefined
  /** Nanoseconds of the monotonic clock. */
  at: bigint
  /** The process that it left behind. */
  left: number
}

type Wanted = Partial<{ event: Event['event']; session: string; pid: number; name: string }>

export class Party {
  readonly child: Child
  readonly events: Event[] = []
  readonly #asked = new Map<number, { resolve(value: never): void; reject(error: Error): void }>()
  readonly #waiting = new Set<() => void>()
  #last = 0
  #hasEnded = false

  constructor(device: string, options: ChildOptions = {}) {
    this.child = startChild(new URL('children/party.ts', import.meta.url), { ...options, timeoutMs: 120_000, arguments: [device] })
    void this.#listen()
  }

  get pid(): number {
    return this.child.pid
  }

  do<T = void>(command: Command): Promise<T> {
    const id = ++this.#last
    return new Promise<T>((resolve, reject) => {
      if (this.#hasEnded) return reject(new Ended(`the party has ended before '${command.do}'`))
      this.#asked.set(id, { resolve, reject })
      this.child.channel.send(new TextEncoder().encode(JSON.stringify({ ...command, id }))).catch(() => {})
    })
  }

  /** What it holds, without what garbage may still be collected of: the books and the kernel. */
  async counts(): Promise<Held & { rss: number }> {
    return this.do({ do: 'counts' })
  }

  /** The first event of those after the mark that is wanted. */
  async event(wanted: Wanted, after = 0, timeoutMs = 10_000): Promise<Event> {
    const find = (): Event | undefined =>
      this.events.slice(after).find((event) => Object.entries(wanted).every(([key, value]) => (event as unknown as Record<string, unknown>)[key] === value))
    return new Promise<Event>((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(look)
      }
      const look = (): void => {
        const found = find()
        if (found === undefined && !this.#hasEnded) return
        done()
        if (found === undefined) reject(new Ended(`the party ended without ${JSON.stringify(wanted)}`))
        else resolve(found)
      }
      const timer = setTimeout(() => {
        done()
        reject(new Error(`no ${JSON.stringify(wanted)} within ${timeoutMs} ms: ${JSON.stringify(this.events.slice(after))}`))
      }, timeoutMs)
      this.#waiting.add(look)
      look()
    })
  }

  /** How it ended, which it must do by itself. */
  async death(): Promise<Death> {
    const exit = await this.child.exited
    this.child.channel.close()
    const words = /^reached (\S+) (\d+) (\d+)$/m.exec(exit.stdout)
    return { exit, step: words?.[1] as Step | undefined, at: BigInt(words?.[2] ?? 0), left: Number(words?.[3] ?? 0) }
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Exit> {
    return this.child.kill(signal)
  }

  async #listen(): Promise<void> {
    const { channel } = this.child
    try {
      for (;;) {
        const { bytes } = await channel.receive()
        this.#take(JSON.parse(new TextDecoder().decode(bytes)) as Message)
      }
    } catch {
      this.#hasEnded = true
      const { code, signal, stderr } = await this.child.exited
      const how = `the party has ended with ${signal ?? code}${stderr && `: ${stderr}`}`
      for (const { reject } of this.#asked.values()) reject(new Ended(how))
      this.#asked.clear()
      for (const look of this.#waiting) look()
    }
  }

  #take(message: Message): void {
    if ('event' in message) {
      this.events.push(message)
      for (const look of this.#waiting) look()
      return
    }
    const asked = this.#asked.get(message.id)!
    this.#asked.delete(message.id)
    if ('failure' in message) asked.reject(new Refused(message.failure))
    else asked.resolve(message.value as never)
  }
}

/** The parties of a test file: all of them end with it. The next one starts before it is needed. */
export class Parties {
  readonly #device: string
  readonly #all = new Set<Party>()
  readonly #left = new Set<number>()
  #next: Party | undefined

  constructor(device: string) {
    this.#device = device
  }

  start(options?: ChildOptions): Party {
    const party = new Party(this.#device, options)
    this.#all.add(party)
    void party.child.exited.then(() => this.#all.delete(party))
    return party
  }

  /** One that is not used yet. */
  fresh(): Party {
    const party = this.#next ?? this.start()
    this.#next = this.start()
    return party
  }

  /** Ends what a dead party left behind. */
  endLeft({ left }: Death): void {
    if (left !== 0) end(left)
    this.#left.delete(left)
  }

  left({ left }: Death): void {
    if (left !== 0) this.#left.add(left)
  }

  async end(): Promise<void> {
    for (const pid of this.#left) end(pid)
    await alive(Promise.all([...this.#all].map((party) => party.kill())))
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it has ended
  }
}

/** Compiles what copies a process. */
export function buildForker(folder: string): string {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const path = join(folder, 'forker.node')
  execFileSync('gcc', [
    '-std=gnu11', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-I', join(root, 'node_modules/node-api-headers/include'), '-o', path,
    fileURLToPath(new URL('forker.c', import.meta.url)),
  ])
  return path
}

export type { Survivor }
