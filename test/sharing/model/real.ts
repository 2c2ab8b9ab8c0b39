/** What a run works on: the parties that play in it, and what was measured. */
import { differences, type Cast, type Seen } from './check.ts'
import type { Exporter, Importer, Model, Session } from './model.ts'
import type { Ask, Reply } from './protocol.ts'
import type { Party, World } from './world.ts'

/** How long the parties have to agree with the model, in milliseconds. */
const SETTLE_MS = 3000
/** A lease of a dead process may not be there longer, in milliseconds, on a machine that has something else to do. */
const DEAD_MS = 1000

export class Real {
  readonly world: World
  readonly hostAddressable: boolean
  readonly cast: Cast = { exporters: [], importers: [] }
  readonly seen: Seen = { released: new Map(), gone: new Map() }
  readonly stats: Stats

  constructor(world: World, hostAddressable: boolean, stats: Stats) {
    this.world = world
    this.hostAddressable = hostAddressable
    this.stats = stats
  }

  exporter(exporter: Exporter): Party {
    return this.cast.exporters[exporter.number]!
  }

  importer(importer: Importer): Party {
    return this.cast.importers[importer.number]!
  }

  /** Asks the process of a session. */
  of(session: Session, ask: Ask): Promise<Reply> {
    return this.importer(session.importer).ask(ask)
  }

  async start(kind: keyof Cast, number: number): Promise<Party> {
    return (this.cast[kind][number] ??= await this.world.party())
  }

  /** SIGKILL, and what has to be told because of it: keys of `seen`. */
  async kill(kind: keyof Cast, number: number, told: { released?: string[]; gone?: string[] }): Promise<Death> {
    const party = this.cast[kind][number]!
    this.cast[kind][number] = undefined
    const death = { ...(await this.world.kill(party)), kind, told: [...(told.released ?? []), ...(told.gone ?? [])] }
    return death
  }

  /** Waits until every process and the model agree. */
  async settle(model: Model, deaths: readonly Death[] = []): Promise<void> {
    const until = performance.now() + SETTLE_MS
    for (let found = ['']; found.length > 0; ) {
      found = await differences(model, this.cast, this.seen)
      const sockets = model.exporters.filter((e) => e.isListening || e.leftSocket).map((e) => `${e.number}.sock`)
      if (this.world.onDisk().join() !== sockets.join()) found.push(`on disk: ${this.world.onDisk().join()}, not ${sockets.join()}`)
      if (found.length > 0 && performance.now() > until) throw new Error(found.join('\n'))
    }
    for (const death of deaths) this.#measure(death)
  }

  #measure({ killed, kind, told }: Death): void {
    const times = kind === 'importers' ? this.seen.released : this.seen.gone
    for (const key of told) {
      const at = times.get(key)
      if (at === undefined) continue // taken and lost in the same moment: never announced
      const ms = Number(at - killed) / 1e6
      this.stats[kind === 'importers' ? 'leasesOfTheDead' : 'exportersGone'].push(ms)
      if (ms > DEAD_MS) throw new Error(`${key} ended ${ms.toFixed(1)} ms after the kill`)
    }
  }
}

export interface Death {
  killed: bigint
  kind: keyof Cast
  told: string[]
}

export interface Stats {
  readonly trace: boolean
  commands: Map<string, number>
  /** Milliseconds from the kill to the end of a lease. */
  leasesOfTheDead: number[]
  /** Milliseconds from the kill to exporterGone. */
  exportersGone: number[]
}
