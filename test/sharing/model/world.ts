/** The real side: the parties' processes, which are used again from run to run, with spare ones for those that are killed. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse, say, startChild, type Child } from '../../support/child.ts'
import type { Ask, Look, Reply, Reset } from './protocol.ts'

/** A process lives for some runs; then its time is over whatever happens. */
const LIFETIME_MS = 30 * 60_000
const SPARES = 2

export class Party {
  readonly child: Child
  readonly ready: Promise<Reply>
  readonly #asked = new Map<number, { resolve: (reply: Reply) => void; reject: (error: Error) => void }>()
  #last = 0
  #killed = false
  #ended: Error | undefined

  constructor(child: Child) {
    this.child = child
    this.ready = this.#reply(0)
    void this.#hear()
  }

  get pid(): number {
    return this.child.pid
  }

  /** Rejects where the process ends before it has answered. */
  async ask(ask: Ask): Promise<Reply> {
    if (this.#ended !== undefined) throw this.#ended
    const id = ++this.#last
    const reply = this.#reply(id)
    await say(this.child.channel, { id, ...ask }).catch(() => {}) // told by the end of the process
    return reply
  }

  async look(): Promise<Look> {
    const { look, message } = await this.ask({ do: 'look' })
    if (look === undefined) throw new Error(`no look at ${this.pid}: ${message}`)
    return look
  }

  async reset(): Promise<Reset> {
    return (await this.ask({ do: 'reset' })).reset!
  }

  /** Resolves with process.hrtime of the kill, when this process was told of the end. */
  async kill(): Promise<{ killed: bigint; told: bigint }> {
    this.#killed = true
    const killed = process.hrtime.bigint()
    await this.child.kill()
    return { killed, told: process.hrtime.bigint() }
  }

  #reply(id: number): Promise<Reply> {
    const reply = new Promise<Reply>((resolve, reject) => this.#asked.set(id, { resolve, reject }))
    reply.catch(() => {}) // whoever asked is told
    return reply
  }

  async #hear(): Promise<void> {
    try {
      for (;;) {
        const { id, ...reply } = parse<{ id: number } & Reply>(await this.child.channel.receive())
        this.#asked.get(id)!.resolve(reply)
        this.#asked.delete(id)
      }
    } catch {
      const { code, signal, stderr } = await this.child.exited
      const error = this.#killed ? new Killed(this.pid) : new Error(`party ${this.pid} ended by itself (${code ?? signal}): ${stderr}`)
      this.#ended = error
      for (const { reject } of this.#asked.values()) reject(error)
      this.#asked.clear()
    }
  }
}

/** The party was killed before it answered. */
export class Killed extends Error {
  constructor(pid: number) {
    super(`party ${pid} was killed`)
  }
}

export class World {
  /** Where the sockets are, and nothing else. */
  readonly folder = mkdtempSync(join(tmpdir(), 'usm-ipc-model-'))
  readonly #selector: string
  readonly #env: Record<string, string>
  readonly #warm = mkdtempSync(join(tmpdir(), 'usm-ipc-model-warm-'))
  readonly #all = new Set<Party>()
  readonly #idle: Party[] = []
  readonly #keepers = new Set<number>()
  /** What a party held when it had done nothing but warm up. */
  readonly #baselines = new Map<Party, Reset>()
  started = 0

  constructor(selector: string, env: Record<string, string>) {
    this.#selector = selector
    this.#env = env
  }

  path(exporter: number): string {
    return join(this.folder, `${exporter}.sock`)
  }

  /** A party that holds nothing. */
  async party(): Promise<Party> {
    const party = this.#idle.shift() ?? this.#start()
    while (this.#idle.length < SPARES) this.#idle.push(this.#start())
    await party.ready
    if (!this.#baselines.has(party)) this.#baselines.set(party, await party.reset())
    return party
  }

  /** Takes a party back: it has to be as it was at the start. */
  async giveBack(party: Party): Promise<string[]> {
    const before = this.#baselines.get(party)!
    let now = await party.reset()
    for (let i = 0; i < 50 && !this.#isAsBefore(before, now); i++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      now = await party.reset()
    }
    if (!this.#isAsBefore(before, now)) return [`party ${party.pid} is not as it was at the start: ${JSON.stringify({ before, now })}`]
    this.#idle.unshift(party)
    return []
  }

  async kill(party: Party): Promise<{ killed: bigint; told: bigint }> {
    this.#all.delete(party)
    this.#baselines.delete(party)
    return party.kill()
  }

  /** A program that keeps the party's sockets, until the run is over. */
  async fork(party: Party): Promise<void> {
    this.#keepers.add((await party.ask({ do: 'fork' })).pid!)
  }

  endKeepers(): void {
    for (const pid of this.#keepers) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
    }
    this.#keepers.clear()
  }

  /** Names of what is on disk. */
  onDisk(): string[] {
    return readdirSync(this.folder).sort()
  }

  /** What parties that were killed have left. */
  forget(): void {
    for (const name of this.onDisk()) rmSync(join(this.folder, name))
  }

  async end(): Promise<void> {
    this.endKeepers()
    await Promise.all([...this.#all].map((party) => party.kill()))
    for (const folder of [this.folder, this.#warm]) rmSync(folder, { recursive: true })
  }

  #start(): Party {
    this.started++
    const child = startChild(new URL('children/party.ts', import.meta.url), {
      arguments: [this.#selector, join(this.#warm, `${this.started}.sock`)], env: this.#env, timeoutMs: LIFETIME_MS,
    })
    const party = new Party(child)
    this.#all.add(party)
    return party
  }

  // The SYCL runtime keeps some mappings that were closed: those have a bound, all else is exact.
  #isAsBefore(before: Reset, now: Reset): boolean {
    const { mappings, ...exact } = now
    const kept = this.#selector === 'sycl' ? KEPT : 0
    return mappings <= before.mappings + kept && Object.entries(exact).every(([name, value]) => value === before[name as keyof Reset])
  }
}

/** docs/api.md: UMF_MAX_OPENED_IPC_HANDLES. */
const KEPT = 64
