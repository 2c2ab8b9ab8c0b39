/** The invariants: what every live process says, against the model and against each other. */
import { isInOrder, type Exporter, type Importer, type Model, type Session } from './model.ts'
import type { Content } from './pattern.ts'
import type { Books, Look } from './protocol.ts'
import type { Party } from './world.ts'

export interface Cast {
  readonly exporters: (Party | undefined)[]
  readonly importers: (Party | undefined)[]
}

/** Leases and notices of a death, by process.hrtime. */
export interface Seen {
  readonly released: Map<string, bigint>
  readonly gone: Map<string, bigint>
}

/** What is not as it must be, in words. Publications whose time may be over are withdrawn in the model as the exporter says. */
export async function differences(model: Model, cast: Cast, seen: Seen): Promise<string[]> {
  const looks = (parties: (Party | undefined)[]): Promise<(Look | undefined)[]> => Promise.all(parties.map((party) => party?.look()))
  const [exporters, importers] = await Promise.all([looks(cast.exporters), looks(cast.importers)])
  const found: string[] = []
  for (const exporter of model.exporters) {
    const look = exporters[exporter.number]
    if (look === undefined) continue
    for (const [lease, at] of look.released) seen.released.set(`${exporter.number}:${lease}`, BigInt(at))
    const say = (text: string): number => found.push(`exporter ${exporter.number}: ${text}`)
    expire(model, exporter, look)
    ofExporter(model, exporter, look, cast, say)
    ofBooks(look.books, exporterBooks(exporter), say)
  }
  for (const importer of model.importers) {
    const look = importers[importer.number]
    if (look === undefined) continue
    const say = (text: string): number => found.push(`importer ${importer.number}: ${text}`)
    for (const { session, goneAt } of look.sessions) if (goneAt !== '') seen.gone.set(`${importer.number}:${session}`, BigInt(goneAt))
    ofImporter(importer, look, say)
    ofBooks(look.books, importerBooks(importer), say)
  }
  return found
}

type Say = (text: string) => void

/** What a name's time has done. */
function expire(model: Model, exporter: Exporter, look: Look): void {
  const served = new Set(look.exporter?.names.map(({ name }) => name))
  for (const publication of exporter.names.values()) {
    if (publication.expires === undefined || publication.expires > Date.now() || served.has(publication.name)) continue
    model.withdrawn(publication, false)
  }
}

function ofExporter(model: Model, exporter: Exporter, look: Look, cast: Cast, say: Say): void {
  for (const [ticket, how] of look.ended) {
    const known = exporter.tickets.find(({ number }) => number === ticket)
    if (known !== undefined) known.hasEnded = true
    if (how !== 'ok') say(`unpublish ${ticket} failed: ${how}`)
  }
  for (const ticket of exporter.tickets) if (!isInOrder(ticket)) say(`unpublish ${ticket.number} ${ticket.hasEnded ? 'has ended' : 'waits'}`)
  if ((look.exporter !== undefined) !== exporter.isListening) return say(exporter.isListening ? 'does not listen' : 'listens')
  for (const { number, isOpen, seed } of exporter.memories.values()) {
    const content = look.memories.find(({ memory }) => memory === number)?.content
    if (!isOpen) {
      if (content !== undefined) say(`memory ${number} is open`)
    } else if (content === undefined || !isOf(content, seed, 0)) say(`memory ${number} holds ${show(content)}, not ${seed}`)
  }
  if (look.exporter === undefined) return
  const sessions = model.liveSessions().filter((session) => session.exporter === exporter)
  const pid = ({ importer }: Session): number => cast.importers[importer.number]!.pid
  same('peers', look.exporter.peers.map(String), sessions.map((s) => String(pid(s))), say)
  same('names', look.exporter.names.map((n) => `${n.name} ${n.nbytes} ${n.allocationId} ${n.leases}`),
    [...exporter.names.values()].map((p) => `${p.name} ${p.nbytes} ${p.export.memory.allocationId} ${p.export.leases.size}`), say)
  const leases = sessions.flatMap((s) => [...s.leases].filter((l) => l.export.leases.has(l)).map((l) => `${l.id} ${l.export.memory.allocationId} ${pid(s)}`))
  same('leases', look.exporter.leases.map((l) => `${l.id} ${l.allocationId} ${l.pid}`), leases, say)
}

function ofImporter(importer: Importer, look: Look, say: Say): void {
  const sessions = [...importer.sessions.values()]
  same('sessions', look.sessions.map(({ session, isClosed, aborted, leases }) => `${session} ${isClosed} ${aborted} ${leases.sort((a, b) => a - b).join()}`),
    sessions.map((s) => `${s.number} ${s.state !== 'live'} ${{ live: '', gone: 'EXPORTER_GONE', closed: 'CLOSED' }[s.state]} ${[...s.leases].map(({ id }) => id).sort((a, b) => a - b).join()}`), say)
  for (const { session, revoked } of look.sessions) {
    const [least, most] = importer.sessions.get(session)?.revoked ?? [0, 0]
    if (revoked < least || revoked > most) say(`session ${session} had ${revoked} notices, not ${least} to ${most}`)
  }
  const leases = sessions.flatMap((s) => [...s.leases])
  const opened = leases.flatMap(({ memories }) => [...memories])
  const aborted = { live: '', revoked: 'REVOKED', 'exporter-gone': 'EXPORTER_GONE' }
  same('memories', look.slots.map((s) => `${s.slot} ${s.state} ${s.state === 'exporter-gone' ? 'EXPORTER_GONE' : s.aborted}`),
    opened.map((o) => `${o.slot} ${o.state} ${aborted[o.state]}`), say)
  for (const { slot, content } of look.slots) {
    const one = opened.find((o) => o.slot === slot)
    if (one !== undefined && !one.isLoose && !isOf(content, one.seed, one.offset)) say(`memory ${slot} ('${one.name}', ${one.state}) reads ${show(content)}, not ${one.seed} from ${one.offset}`)
  }
  const views = leases.flatMap((l) => [...l.views])
  same('views', look.views.map(({ view }) => String(view)), views.map(({ number }) => String(number)), say)
  for (const { view, content } of look.views) {
    const one = views.find((v) => v.number === view)
    if (one !== undefined && !one.isLoose && !isOf(content, one.of.seed, one.of.offset)) say(`view ${view} reads ${show(content)}, not ${one.of.seed} from ${one.of.offset}`)
  }
}

function isOf(content: Content, seed: number, first: number): boolean {
  return content !== 'torn' && content.seed === seed && content.first === first
}

const show = (content: Content | undefined): string => JSON.stringify(content) ?? 'nothing'

type Expected = Pick<Books, 'allocations' | 'exports' | 'mappings' | 'views' | 'leases' | 'resources'>

function exporterBooks({ memories }: Exporter): Expected {
  const all = [...memories.values()]
  const exports = all.flatMap((memory) => [...memory.exports])
  const held = all.filter(({ isOpen, exports: { size } }) => isOpen || size > 0)
  return {
    allocations: all.filter(({ isOpen }) => isOpen).length, exports: exports.length, mappings: 0, views: 0,
    leases: exports.reduce((sum, { leases }) => sum + leases.size, 0), resources: held.map(({ allocationId }) => allocationId),
  }
}

function importerBooks({ sessions }: Importer): Expected {
  const leases = [...sessions.values()].flatMap((session) => [...session.leases])
  const sum = (what: 'memories' | 'views'): number => leases.reduce((all, lease) => all + lease[what].size, 0)
  const resources = new Set(leases.map((lease) => lease.export.memory.allocationId))
  return { allocations: 0, exports: 0, mappings: sum('memories'), views: sum('views'), leases: 0, resources: [...resources] }
}

// Each against the model, then the two against each other.
function ofBooks(books: Books, expected: Expected, say: Say): void {
  for (const kind of ['allocations', 'exports', 'mappings', 'views', 'leases'] as const) {
    if (books[kind] !== expected[kind]) say(`the ledger has ${books[kind]} ${kind}, not ${expected[kind]}`)
  }
  same('resources', books.resources, expected.resources, say)
  const { live, claims, descriptors, leases, processLeases, environments, disagreement, leaked } = books
  if (claims !== live + descriptors) say(`the registry has ${claims} claims (${descriptors} descriptors), the ledger ${live}`)
  if (leases !== processLeases) say(`the registry has ${processLeases} leases, the ledger ${leases}`)
  if (disagreement.length > 0) say(`the books disagree: ${JSON.stringify(disagreement)}`)
  if (leaked > 0) say(`the collector had to end ${leaked} claims`)
  if (environments !== 1) say(`there are ${environments} environments`)
  for (const [name, count] of Object.entries(books)) if (typeof count === 'number' && !(Number.isInteger(count) && count >= 0)) say(`${name} is ${count}`)
}

function same(what: string, actual: string[], expected: string[], say: Say): void {
  const [is, must] = [actual.sort(), expected.sort()]
  if (is.join('\n') !== must.join('\n')) say(`${what} are [${is.join('; ')}], not [${must.join('; ')}]`)
}
