/** Many things at the same moment: opens from several sessions, and in the middle of them something that gets in their way. */
import { assert, kind, outcome, pick, type Dice } from './command.ts'
import { NAMES, allocate, listening, servedNames, sessionsOf, steadyNames } from './exporting.ts'
import { leasesOf, opened, text } from './importing.ts'
import type { Exporter, Importer, Memory, Model, Opened, Publication, Session } from './model.ts'
import type { Reply } from './protocol.ts'
import type { Death, Real } from './real.ts'
import { Killed } from './world.ts'

/** What gets in the way. */
interface Disturbance {
  readonly text: string
  /** What an open may come to because of it, besides what it may come to before and after it. */
  readonly allows: (session: Session) => readonly string[]
  prepare?(): Promise<void>
  /** Starts it; gives what the model makes of it, once it is done. */
  start(): Promise<(taken: Open[]) => Death[] | void>
}

interface Open {
  readonly session: Session
  readonly name: string
  readonly slot: number
}

interface Chosen {
  readonly exporter: Exporter
  readonly opens: readonly Open[]
  /** How many opens are sent before it. */
  readonly at: number
  readonly pauseMs: number
  readonly disturbance: (model: Model, real: Real) => Disturbance
  readonly text: string
}

const none: readonly string[] = []

export const storm = kind({
  name: 'storm', weight: 30,
  choose(model, dice): Chosen | undefined {
    const [which, what, at, pause, count, ...more] = dice
    const exporter = pick(listening(model).filter((e) => steadyNames(e).length > 0), which!)
    const sessions = exporter && model.liveSessions().filter((session) => session.exporter === exporter)
    if (exporter === undefined || sessions!.length === 0 || model.opened().length > 40) return undefined
    const opens = Array.from({ length: 2 + (count! % 6) }, (_, i) => ({
      session: pick(sessions!, more[i % more.length]! >> 3)!, name: pick([...servedNames(exporter), { name: NAMES[i % NAMES.length]! }], more[i % more.length]!)!.name, slot: 0,
    })).filter(({ name }) => exporter.names.get(name)?.expires === undefined)
    const found = disturbance(what!, exporter, sessions!, more, model)
    return { exporter, opens, at: at! % (opens.length + 1), pauseMs: pause! % 4, ...found }
  },
  describe: ({ opens, at, pauseMs, text: disturbed }) => (
    `${disturbed} after ${at} and ${pauseMs} ms of ${opens.map(({ session, name }) => `'${name}' ${text(session)}`).join(', ')}`
  ),
  async act({ exporter, opens: planned, at, pauseMs, disturbance: make }, model, real) {
    const opens = planned.map((open) => ({ ...open, slot: model.fresh() }))
    const disturbance = make(model, real)
    await disturbance.prepare?.()
    const before = new Map(exporter.names)
    const allowed = opens.map(({ session, name }) => [model.mayOpen(session, before.get(name)), ...disturbance.allows(session)])
    const parties = opens.map(({ session }) => real.importer(session.importer))
    const ask = ({ session, name, slot }: Open, i: number): Promise<Reply> => parties[i]!.ask({ do: 'open', session: session.number, name, slot })
    const asked = opens.slice(0, at).map(ask)
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs - 1))
    const disturbed = disturbance.start()
    asked.push(...opens.slice(at).map((open, i) => ask(open, at + i)))
    const replies = await Promise.all(asked.map((reply) => reply.catch((error: unknown) => (error instanceof Killed ? undefined : Promise.reject(error as Error)))))
    const apply = await disturbed
    // In the order that it must have had: what was opened of the names of before, the disturbance, the rest.
    const results = opens.map((open, i) => ({ open, reply: replies[i], allowed: allowed[i]! }))
    const early = results.filter(({ open, reply }) => {
      const one = reply?.opened?.[0]
      const publication = before.get(open.name)
      if (one === undefined || publication?.export.memory.allocationId !== one.allocationId) return false
      const lease = model.leaseOf(open.session, publication.export)
      return isCloseOpened(disturbance) ? lease?.id === one.lease : true
    })
    for (const { open, reply } of early) opened(model, open.session, before.get(open.name)!, reply!.opened![0]!)
    const deaths = apply(early.map(({ open }) => open)) ?? []
    for (const result of results) {
      const { open: { session, name }, reply } = result
      if (reply === undefined) continue // killed
      outcome(reply, ...result.allowed, model.mayOpen(session, exporter.names.get(name)))
      const one = reply.opened?.[0]
      if (one === undefined || early.includes(result)) continue
      const publication = exporter.names.get(name)
      assert(publication !== undefined, `'${name}' was opened, which is not published`)
      opened(model, session, publication, one)
    }
    await real.settle(model, deaths)
  },
})

const isCloseOpened = (disturbance: Disturbance): boolean => disturbance.text.startsWith('close ')

type Made = Pick<Chosen, 'text' | 'disturbance'>

function disturbance(what: number, exporter: Exporter, sessions: readonly Session[], [one, other]: Dice, model: Model): Made {
  const victim = pick(steadyNames(exporter), one!)!
  const session = pick(sessions, one!)!
  const graceMs = [0, 1, 10][other! % 3]!
  const close = { opened: model.opened().filter((o) => o.lease.session === session) }
  const kinds: (Disturbance['text'] | undefined)[] = [
    `unpublish '${victim.name}'`, `revoke '${victim.name}'`, `replace '${victim.name}'`, `publish`, `rotate the key`, `close what ${text(session)} has opened`,
    `give up`, `close session ${session.number}`, other! % 3 === 0 ? 'kill the exporter' : undefined, other! % 3 === 0 ? 'close the exporter' : undefined,
    other! % 3 === 0 ? `kill importer ${session.importer.number}` : undefined,
  ]
  const chosen = kinds[what % kinds.length] ?? kinds[what % 8]!
  const make = (now: Model, real: Real): Disturbance => {
    if (chosen.startsWith('unpublish')) return withdrawal(victim, false, graceMs, now, real)
    if (chosen.startsWith('revoke')) return withdrawal(victim, true, graceMs, now, real)
    if (chosen.startsWith('replace')) return replacement(victim, graceMs, now, real)
    if (chosen === 'publish') return publication(exporter, now, real)
    if (chosen.startsWith('rotate')) return rotation(exporter, 1 + (other! % 3), real)
    if (chosen.startsWith('close what')) return closing(chosen, close.opened, now, real)
    if (chosen === 'give up') return givingUp(session, victim, now, real)
    if (chosen.startsWith('close session')) return sessionEnd(session, now, real)
    if (chosen === 'kill the exporter') return exporterDeath(exporter, now, real)
    if (chosen === 'close the exporter') return exporterEnd(exporter, graceMs, now, real)
    return importerDeath(session.importer, now, real)
  }
  return { text: `${chosen} of ${exporter.number}`, disturbance: make }
}

function withdrawal(victim: Publication, revoke: boolean, graceMs: number, model: Model, real: Real): Disturbance {
  const { export: shared, name } = victim
  return {
    text: 'unpublish', allows: () => none,
    async start() {
      const known = new Set(shared.leases)
      const number = model.fresh()
      outcome(await real.exporter(shared.memory.exporter).ask({ do: 'unpublish', name, revoke, graceMs, ticket: number, wait: revoke }), 'ok')
      return (taken) => {
        const ticket = model.unpublished(victim, number, revoke)
        if (revoke) return model.graceIsOver(shared, ticket)
        // Taken by another name of the same export: perhaps only after the call.
        for (const lease of ticket.held) {
          if (known.has(lease) || taken.some((open) => open.session === lease.session && open.name === name)) continue
          ticket.held.delete(lease)
          ticket.perhaps.add(lease)
        }
      }
    },
  }
}

function replacement(victim: Publication, graceMs: number, model: Model, real: Real): Disturbance {
  const { export: shared, name } = victim
  const { exporter } = shared.memory
  let memory: Memory
  return {
    text: 'replace', allows: () => ['NO_SUCH_NAME'],
    async prepare() {
      memory = await allocate(exporter, 4096, model, real)
    },
    async start() {
      const number = model.fresh()
      const party = real.exporter(exporter)
      const ended = party.ask({ do: 'unpublish', name, revoke: true, graceMs, ticket: number, wait: true })
      const reply = await party.ask({ do: 'publish', name, memory: memory.number, offset: 0, nbytes: 4096 })
      outcome(await ended, 'ok')
      outcome(reply, 'ok')
      return () => {
        memory.allocationId = reply.allocationId!
        model.graceIsOver(shared, model.unpublished(victim, number, true))
        model.published(name, memory, 0, 4096, undefined)
      }
    },
  }
}

function publication(exporter: Exporter, model: Model, real: Real): Disturbance {
  const name = NAMES.find((n) => !exporter.names.has(n))
  let memory: Memory
  return {
    text: 'publish', allows: () => none,
    async prepare() {
      if (name !== undefined) memory = await allocate(exporter, 8192, model, real)
    },
    async start() {
      if (name === undefined) return () => {}
      const reply = await real.exporter(exporter).ask({ do: 'publish', name, memory: memory.number, offset: 256, nbytes: 4096 })
      outcome(reply, 'ok')
      return () => {
        memory.allocationId = reply.allocationId!
        model.published(name, memory, 256, 4096, undefined)
      }
    },
  }
}

function rotation(exporter: Exporter, key: number, real: Real): Disturbance {
  return {
    text: 'rotate', allows: ({ keys }) => (keys === undefined ? none : ['ok', 'UNKNOWN_KEY']),
    async start() {
      outcome(await real.exporter(exporter).ask({ do: 'rotateKey', key }), 'ok')
      return () => void (exporter.key = key)
    },
  }
}

function closing(named: string, memories: readonly Opened[], model: Model, real: Real): Disturbance {
  return {
    text: named, allows: () => none,
    async start() {
      const replies = await Promise.all(memories.map((one) => real.of(one.lease.session, { do: 'closeSlot', slot: one.slot })))
      for (const reply of replies) outcome(reply, 'ok')
      return () => {
        for (const one of memories) model.closed(one)
      }
    },
  }
}

/** Opens that nobody waits for: what they would have got has to go back. */
function givingUp(session: Session, victim: Publication, model: Model, real: Real): Disturbance {
  const slots = Array.from({ length: 6 }, () => model.fresh())
  return {
    text: 'give up', allows: () => none,
    async start() {
      const replies = await Promise.all(slots.map((slot, i) => real.of(session, { do: 'open', session: session.number, name: victim.name, slot, timeoutMs: i / 4 })))
      return () => {
        for (const reply of replies) {
          if (outcome(reply, 'TIMEOUT', model.mayOpen(session, victim)) === 'ok') opened(model, session, victim, reply.opened![0]!)
        }
      }
    },
  }
}

function sessionEnd(session: Session, model: Model, real: Real): Disturbance {
  return {
    text: 'end session', allows: (other) => (other === session ? ['CLOSED'] : none),
    async start() {
      outcome(await real.of(session, { do: 'closeSession', session: session.number }), 'ok')
      return () => model.sessionClosed(session)
    },
  }
}

function exporterDeath(exporter: Exporter, model: Model, real: Real): Disturbance {
  return {
    text: 'kill the exporter', allows: () => ['EXPORTER_GONE'],
    async start() {
      const death = await real.kill('exporters', exporter.number, { gone: sessionsOf(exporter, model) })
      return () => {
        model.exporterEnded(exporter, true)
        return [death]
      }
    },
  }
}

function exporterEnd(exporter: Exporter, graceMs: number, model: Model, real: Real): Disturbance {
  return {
    text: 'end exporter', allows: () => ['EXPORTER_GONE', 'NO_SUCH_NAME', 'CLOSING'],
    async start() {
      outcome(await real.exporter(exporter).ask({ do: 'closeExporter', graceMs }), 'ok')
      return () => model.exporterEnded(exporter, false)
    },
  }
}

function importerDeath(importer: Importer, model: Model, real: Real): Disturbance {
  return {
    text: 'kill an importer', allows: () => none,
    async start() {
      const death = await real.kill('importers', importer.number, { released: leasesOf(importer) })
      return () => {
        model.importerKilled(importer)
        return [death]
      }
    },
  }
}
