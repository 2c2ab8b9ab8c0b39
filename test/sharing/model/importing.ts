/** What importers do. */
import { assert, kind, outcome, pick } from './command.ts'
import { NAMES, listening, servedNames } from './exporting.ts'
import type { Exporter, Importer, Kept, Model, Opened as OpenedMemory, Publication, Session, View } from './model.ts'
import type { Opened } from './protocol.ts'
import type { Real } from './real.ts'

const MOST_SESSIONS = 2
const MOST_OPENED = 40

const running = (model: Model): Importer[] => model.importers.filter(({ isRunning }) => isRunning)

export async function start(importer: Importer, real: Real): Promise<void> {
  await real.start('importers', importer.number)
  importer.isRunning = true
}

export const startImporter = kind({
  name: 'startImporter', weight: 4,
  choose: (model, [which]) => pick(model.importers.filter((i) => !i.isRunning), which!),
  describe: (importer: Importer) => `${importer.number}`,
  async act(importer, model, real) {
    await start(importer, real)
    await real.settle(model)
  },
})

export const killImporter = kind({
  name: 'killImporter', weight: 2,
  choose(model, [which, forks]) {
    const importer = pick(running(model), which!)
    return importer && { importer, forks: forks! % 2 === 0 }
  },
  describe: ({ importer, forks }) => `${importer.number}${forks ? ', which has forked' : ''}`,
  async act({ importer, forks }, model, real) {
    if (forks) await real.world.fork(real.importer(importer))
    const death = await real.kill('importers', importer.number, { released: leasesOf(importer) })
    model.importerKilled(importer)
    await real.settle(model, [death])
  },
})

export function leasesOf(importer: Importer): string[] {
  return [...importer.sessions.values()].filter(({ state }) => state === 'live').flatMap((session) => (
    [...session.leases].filter((lease) => lease.export.leases.has(lease)).map((lease) => `${session.exporter.number}:${lease.id}`)
  ))
}

/** A child of either side that keeps its sockets open when it is dead. */
export const fork = kind({
  name: 'fork', weight: 2,
  choose(model, [which]) {
    const exporters = listening(model).map(({ number }) => ({ side: 'exporters' as const, number }))
    return pick([...exporters, ...running(model).map(({ number }) => ({ side: 'importers' as const, number }))], which!)
  },
  describe: ({ side, number }) => `${side} ${number}`,
  async act({ side, number }, model, real) {
    await real.world.fork(real.cast[side][number]!)
    await real.settle(model)
  },
})

export const connect = kind({
  name: 'connect', weight: 5,
  choose(model, [which, to, keys]) {
    const live = (importer: Importer): number => [...importer.sessions.values()].filter(({ state }) => state === 'live').length
    const importer = pick(running(model).filter((i) => live(i) < MOST_SESSIONS), which!)
    const exporter = pick(to! % 8 === 0 ? model.exporters : listening(model), to!)
    return importer && exporter && { importer, exporter, keys: [undefined, undefined, [1, 2], [exporter.key ?? 3]][keys! % 4] }
  },
  describe: ({ importer, exporter, keys }) => `${importer.number} to ${exporter.number}${keys === undefined ? '' : `, keys ${keys.join()}`}`,
  async act({ importer, exporter, keys }, model, real) {
    await connectTo(exporter, importer, keys, model, real)
    await real.settle(model)
  },
})

export async function connectTo(exporter: Exporter, importer: Importer, keys: readonly number[] | undefined, model: Model, real: Real): Promise<void> {
  const session = model.fresh()
  const path = real.world.path(exporter.number)
  const reply = await real.importer(importer).ask({ do: 'connect', session, path, ...(keys === undefined ? {} : { keys: [...keys] }) })
  if (exporter.isListening) {
    outcome(reply, 'ok')
    model.connected(importer, session, exporter, keys)
  } else outcome(reply, 'NO_LISTENER', 'EXPORTER_GONE')
}

export const list = kind({
  name: 'list', weight: 3,
  choose: (model, [which]) => pick(model.sessions(), which!),
  describe: text,
  async act(session: Session, model, real) {
    const reply = await real.of(session, { do: 'list', session: session.number })
    if (outcome(reply, session.state === 'live' ? 'ok' : model.mayOpen(session, undefined)) !== 'ok') return real.settle(model)
    const served = servedNames(session.exporter)
    const others = new Set([...session.exporter.names.keys()].filter((name) => !served.some((p) => p.name === name)))
    const says = reply.names!.filter(({ name }) => !others.has(name)).map(({ name, nbytes, leases, allocationId }) => `${name} ${nbytes} ${leases} ${allocationId}`)
    const must = served.map((p) => `${p.name} ${p.nbytes} ${p.export.leases.size} ${p.export.memory.allocationId}`).sort()
    assert(says.join('\n') === must.join('\n'), `lists ${says.join('; ')}, not ${must.join('; ')}`)
    await real.settle(model)
  },
})

export function text(session: Session): string {
  return `session ${session.number} of ${session.importer.number} at ${session.exporter.number}`
}

/** Mostly those that are live. */
function usable(model: Model, die: number): Session[] {
  if (model.opened().length >= MOST_OPENED) return []
  return die % 10 === 0 ? model.sessions() : model.liveSessions()
}

export const open = kind({
  name: 'open', weight: 26,
  choose(model, [which, name, strange]) {
    const session = pick(usable(model, which!), which!)
    return session && { session, name: strange! % 8 === 0 ? pick(NAMES, name!)! : (pick(session.exporter.names.keys(), name!) ?? NAMES[0]!) }
  },
  describe: ({ session, name }) => `'${name}', ${text(session)}`,
  async act({ session, name }, model, real) {
    const publication = session.exporter.names.get(name)
    const must = model.mayOpen(session, publication)
    const slot = model.fresh()
    const reply = await real.of(session, { do: 'open', session: session.number, name, slot })
    if (outcome(reply, must, ...late(publication)) === 'ok') opened(model, session, publication!, reply.opened![0]!)
    else if (must === 'ok') model.withdrawn(publication!, false)
    await real.settle(model)
  },
})

/** What the end of its time may have made of a name. */
function late(publication: Publication | undefined): string[] {
  // A timer may be a moment early.
  return publication?.expires !== undefined && Date.now() + 2 >= publication.expires ? ['NO_SUCH_NAME'] : []
}

type Range = Pick<Publication, 'export' | 'offset' | 'nbytes'> & { readonly name: string | undefined }

/** Enters what was opened, which has to be what is published. */
export function opened(model: Model, session: Session, { name, export: shared, offset, nbytes }: Range, { slot, lease, ...is }: Opened): void {
  const { allocationId } = shared.memory
  assert(is.allocationId === allocationId, `'${name}' is of allocation ${is.allocationId}, not ${allocationId}`)
  assert(is.nbytes === nbytes || is.nbytes === 0, `'${name}' has ${is.nbytes} bytes, not ${nbytes}`) // 0: closed meanwhile, with its session
  model.openedBy(session, shared, lease, { slot, name, offset, nbytes })
}

export const openAll = kind({
  name: 'openAll', weight: 4,
  choose: (model, [which]) => pick(usable(model, which!), which!),
  describe: text,
  async act(session: Session, model, real) {
    const slots = Object.fromEntries(NAMES.map((name) => [name, model.fresh()]))
    const { state, exporter } = session
    const all = [...exporter.names.values()].sort((one, other) => (one.name < other.name ? -1 : 1))
    const must = state === 'live' ? all.map((p) => model.mayOpen(session, p)).find((code) => code !== 'ok') ?? 'ok' : model.mayOpen(session, undefined)
    const reply = await real.of(session, { do: 'openAll', session: session.number, slots })
    const expiring = all.filter((p) => p.expires !== undefined)
    // Where what may not be opened has run out of time, the rest may.
    const code = outcome(reply, must, ...(must !== 'ok' && state === 'live' && expiring.length > 0 ? ['ok'] : []))
    if (code === 'ok') {
      for (const publication of all) {
        const one = reply.opened!.find(({ slot }) => slot === slots[publication.name])
        if (one !== undefined) opened(model, session, publication, one)
        else assert(expiring.includes(publication), `openAll left out '${publication.name}'`)
      }
      assert(reply.opened!.every(({ slot }) => all.some(({ name }) => slots[name] === slot)), 'openAll opened what is not published')
    }
    await real.settle(model)
  },
})

export const openKept = kind({
  name: 'openKept', weight: 7,
  choose(model, [which, what]) {
    const session = pick(usable(model, which!), which!)
    const fitting = what! % 3 === 0 ? model.kept : model.kept.filter(({ memory }) => memory.exporter === session?.exporter)
    const kept = pick(fitting, what!)
    return session && kept && { session, kept }
  },
  describe: ({ session, kept }) => `of memory ${kept.memory.number} of ${kept.memory.exporter.number}, key ${kept.key}, ${text(session)}`,
  async act({ session, kept }: { session: Session; kept: Kept }, model, real) {
    const must = model.mayOpenKept(session, kept)
    const served = [...kept.memory.exports].find(({ names }) => names.size > 0)
    const slot = model.fresh()
    const reply = await real.of(session, { do: 'openKept', session: session.number, bytes: kept.bytes, slot })
    const isLate = [...(served?.names.values() ?? [])].some((p) => late(p).length > 0)
    const code = outcome(reply, must, ...(isLate ? ['NO_SUCH_NAME', 'STALE_HANDLE'] : []))
    if (code === 'ok') {
      const { memory } = kept
      opened(model, session, { name: undefined, export: served!, offset: 0, nbytes: memory.nbytes }, reply.opened![0]!)
    }
    await real.settle(model)
  },
})

const chooseOpened = (model: Model, [which]: readonly number[]): OpenedMemory | undefined => pick(model.opened(), which!)
const textOf = ({ slot, name, state, lease }: OpenedMemory): string => `${slot}: '${name}', ${state}, ${text(lease.session)}`

export const closeOpened = kind({
  name: 'close', weight: 18,
  choose: chooseOpened,
  describe: textOf,
  async act(memory, model, real) {
    outcome(await real.of(memory.lease.session, { do: 'closeSlot', slot: memory.slot }), 'ok')
    model.closed(memory)
    await real.settle(model)
  },
})

/** Nobody closes it: the collector ends it. */
export const abandon = kind({
  name: 'abandon', weight: 1,
  choose: chooseOpened,
  describe: textOf,
  async act(memory, model, real) {
    outcome(await real.of(memory.lease.session, { do: 'abandonSlot', slot: memory.slot }), 'ok')
    model.closed(memory)
    await real.settle(model)
  },
})

export const view = kind({
  name: 'view', weight: 5,
  choose: (model, dice, { hostAddressable }) => (hostAddressable ? chooseOpened(model, dice) : undefined),
  describe: textOf,
  async act(memory, model, real) {
    const number = model.fresh()
    outcome(await real.of(memory.lease.session, { do: 'view', slot: memory.slot, view: number }), 'ok')
    model.viewed(memory, number)
    await real.settle(model)
  },
})

export const dropView = kind({
  name: 'dropView', weight: 3,
  choose: (model, [which]) => pick(model.views(), which!),
  describe: ({ number, of }: View) => `${number} of ${textOf(of)}`,
  async act(one, model, real) {
    outcome(await real.of(one.of.lease.session, { do: 'dropView', view: one.number }), 'ok')
    model.dropped(one)
    await real.settle(model)
  },
})

export const closeSession = kind({
  name: 'closeSession', weight: 3,
  choose: (model, [which]) => pick(model.sessions(), which!),
  describe: text,
  async act(session: Session, model, real) {
    outcome(await real.of(session, { do: 'closeSession', session: session.number }), 'ok')
    model.sessionClosed(session)
    await real.settle(model)
  },
})

export const importing = [
  startImporter, killImporter, fork, connect, list, open, openAll, openKept, closeOpened, abandon, view, dropView, closeSession,
]
