/** What must hold: who has published what, who has which leases and memories, and what each of them may say and contain. */

export interface Memory {
  readonly number: number
  readonly nbytes: number
  readonly exporter: Exporter
  seed: number
  isOpen: boolean
  /** Told when it is first published. */
  allocationId: string
  /** The exports that have names or leases. */
  readonly exports: Set<Export>
}

/** One handle: it takes names as long as it has some, and is over with its last name and its last lease. */
export interface Export {
  readonly memory: Memory
  readonly names: Map<string, Publication>
  readonly leases: Set<Lease>
}

export interface Publication {
  readonly name: string
  readonly export: Export
  readonly offset: number
  readonly nbytes: number
  /** From then on (Date.now()) it may be gone. */
  readonly expires: number | undefined
}

export interface Exporter {
  readonly number: number
  isListening: boolean
  /** Its process was killed while it listened: a dead socket is on disk. */
  leftSocket: boolean
  key: number | undefined
  readonly memories: Map<number, Memory>
  readonly names: Map<string, Publication>
  readonly tickets: Ticket[]
}

/** A call of unpublish: it has to end when the leases of its time have. */
export interface Ticket {
  readonly number: number
  readonly held: Set<Lease>
  /** Leases that were taken at the same moment: before it or after it. */
  readonly perhaps: Set<Lease>
  hasEnded: boolean
}

export interface Importer {
  readonly number: number
  isRunning: boolean
  readonly sessions: Map<number, Session>
}

export interface Session {
  readonly number: number
  readonly importer: Importer
  readonly exporter: Exporter
  readonly keys: readonly number[] | undefined
  /** What ended it first. */
  state: 'live' | 'gone' | 'closed'
  readonly leases: Set<Lease>
  /** How many notices of revocation it has had: exactly, but where a notice may have been overtaken by the end. */
  revoked: [least: number, most: number]
}

export interface Lease {
  readonly id: number
  readonly session: Session
  readonly export: Export
  readonly memories: Set<Opened>
  readonly views: Set<View>
  /** Names that the session has opened under it and that are served. */
  readonly names: Set<string | undefined>
  /** A name was withdrawn without a revocation: no revocation of another ends it. */
  isPromised: boolean
}

export interface Opened {
  readonly slot: number
  readonly lease: Lease
  readonly name: string | undefined
  readonly offset: number
  readonly nbytes: number
  readonly seed: number
  state: 'live' | 'revoked' | 'exporter-gone'
  /** The exporter owes nothing any more: it may have written what it likes. */
  isLoose: boolean
}

export interface View {
  readonly number: number
  readonly of: Opened
  isLoose: boolean
}

/** An envelope that was kept. */
export interface Kept {
  readonly bytes: string
  readonly memory: Memory
  readonly key: number | undefined
}

export class Model {
  readonly exporters: Exporter[]
  readonly importers: Importer[]
  readonly kept: Kept[] = []
  #last = 0

  constructor(exporters: number, importers: number) {
    this.exporters = Array.from({ length: exporters }, (_, number) => (
      { number, isListening: false, leftSocket: false, key: undefined, memories: new Map(), names: new Map(), tickets: [] }
    ))
    this.importers = Array.from({ length: importers }, (_, number) => ({ number, isRunning: false, sessions: new Map() }))
  }

  /** A number that was never used, for a memory, a seed, a slot. */
  fresh(): number {
    return ++this.#last
  }

  sessions(): Session[] {
    return this.importers.flatMap(({ sessions }) => [...sessions.values()])
  }

  liveSessions(): Session[] {
    return this.sessions().filter(({ state }) => state === 'live')
  }

  opened(): Opened[] {
    return this.sessions().flatMap(({ leases }) => [...leases].flatMap(({ memories }) => [...memories]))
  }

  views(): View[] {
    return this.sessions().flatMap(({ leases }) => [...leases].flatMap(({ views }) => [...views]))
  }

  // The exporter

  allocated(exporter: Exporter, number: number, nbytes: number, seed: number): Memory {
    const memory: Memory = { number, nbytes, exporter, seed, isOpen: true, allocationId: '', exports: new Set() }
    exporter.memories.set(number, memory)
    return memory
  }

  published(name: string, memory: Memory, offset: number, nbytes: number, expires: number | undefined): void {
    let shared = servedExport(memory)
    if (shared === undefined) memory.exports.add((shared = { memory, names: new Map(), leases: new Set() }))
    const publication: Publication = { name, export: shared, offset, nbytes, expires }
    shared.names.set(name, publication)
    memory.exporter.names.set(name, publication)
  }

  /** The name is no longer served. Revoked: what was opened by it is told, and so is what was opened by an envelope. */
  withdrawn({ name, export: shared }: Publication, isRevoked: boolean): void {
    shared.memory.exporter.names.delete(name)
    shared.names.delete(name)
    for (const lease of shared.leases) {
      lease.isPromised ||= !isRevoked
      for (const one of isRevoked ? [name, undefined] : [name]) {
        if (!lease.names.delete(one) || !isRevoked) continue
        lease.session.revoked[0]++
        lease.session.revoked[1]++
        for (const opened of lease.memories) if (opened.name === one && opened.state === 'live') opened.state = 'revoked'
        loosen(lease, one)
      }
    }
    this.#drop(shared)
  }

  /** Unpublished, and the call waits for the leases that there are. */
  unpublished(publication: Publication, number: number, isRevoked: boolean): Ticket {
    const { export: shared } = publication
    const ticket: Ticket = { number, held: new Set(shared.leases), perhaps: new Set(), hasEnded: false }
    shared.memory.exporter.tickets.push(ticket)
    this.withdrawn(publication, isRevoked)
    return ticket
  }

  /** The grace of a revocation is over: leases on an export without a name are ended. */
  graceIsOver(shared: Export, ticket: Ticket): void {
    if (shared.names.size === 0) {
      for (const lease of shared.leases) {
        if (lease.isPromised) continue
        loosen(lease)
        lease.names.clear()
        shared.leases.delete(lease)
      }
      this.#drop(shared)
    }
    ticket.held.clear()
    ticket.perhaps.clear()
  }

  memoryClosed(memory: Memory): void {
    memory.isOpen = false
  }

  /** Closed by itself, or its process was killed. */
  exporterEnded(exporter: Exporter, wasKilled: boolean): void {
    exporter.isListening = false
    exporter.leftSocket = wasKilled
    for (const session of this.liveSessions()) {
      if (session.exporter !== exporter) continue
      session.state = 'gone'
      // With the notices of a close that came in time.
      if (!wasKilled) for (const { names, memories } of session.leases) session.revoked[1] += names.size + memories.size
      for (const lease of session.leases) {
        for (const opened of lease.memories) opened.state = 'exporter-gone'
        if (!wasKilled) loosen(lease)
      }
    }
    for (const publication of exporter.names.values()) this.withdrawnQuietly(publication)
    for (const { exports } of exporter.memories.values()) {
      for (const shared of exports) {
        shared.leases.clear()
        this.#drop(shared)
      }
    }
    exporter.key = undefined
    if (!wasKilled) return
    exporter.tickets.length = 0
    exporter.memories.clear()
  }

  // The importer

  connected(importer: Importer, number: number, exporter: Exporter, keys: readonly number[] | undefined): void {
    importer.sessions.set(number, { number, importer, exporter, keys, state: 'live', leases: new Set(), revoked: [0, 0] })
  }

  /** What an open has to give: an error's code, or 'ok'. */
  mayOpen(session: Session, publication: Publication | undefined): string {
    if (session.state !== 'live') return session.state === 'closed' ? 'CLOSED' : 'EXPORTER_GONE'
    if (publication === undefined) return 'NO_SUCH_NAME'
    if (this.leaseOf(session, publication.export) !== undefined) return 'ok' // no envelope travels
    return mayTrust(session, publication.export.memory.exporter.key)
  }

  mayOpenKept(session: Session, { memory, key }: Kept): string {
    if (session.state !== 'live') return session.state === 'closed' ? 'CLOSED' : 'EXPORTER_GONE'
    const trust = mayTrust(session, key)
    if (trust !== 'ok') return trust
    const shared = servedExport(memory)
    if (session.exporter.isListening && session.exporter.memories.get(memory.number) === memory) {
      if (shared !== undefined) return this.mayOpen(session, [...shared.names.values()][0])
      return memory.isOpen || memory.exports.size > 0 ? 'NO_SUCH_NAME' : 'STALE_HANDLE'
    }
    return 'UNKNOWN_CLAIM'
  }

  leaseOf(session: Session, shared: Export): Lease | undefined {
    return [...session.leases].find((lease) => lease.export === shared && shared.leases.has(lease))
  }

  /** @param id - the lease's number, as the session says */
  openedBy(session: Session, shared: Export, id: number, opened: { slot: number; name: string | undefined; offset: number; nbytes: number }): void {
    let lease = this.leaseOf(session, shared)
    if (lease === undefined || lease.id !== id) {
      lease = { id, session, export: shared, memories: new Set(), views: new Set(), names: new Set(), isPromised: false }
      session.leases.add(lease)
      shared.leases.add(lease)
    }
    lease.names.add(opened.name)
    lease.memories.add({ ...opened, lease, seed: shared.memory.seed, state: 'live', isLoose: false })
  }

  viewed(opened: Opened, number: number): void {
    opened.lease.views.add({ number, of: opened, isLoose: opened.isLoose })
  }

  closed(opened: Opened): void {
    opened.lease.memories.delete(opened)
    this.#endIfIdle(opened.lease)
  }

  dropped(view: View): void {
    view.of.lease.views.delete(view)
    this.#endIfIdle(view.of.lease)
  }

  sessionClosed(session: Session): void {
    if (session.state === 'live') {
      this.#leftExporter(session)
      session.state = 'closed'
    }
    for (const { memories } of session.leases) for (const opened of memories) this.closed(opened)
  }

  importerKilled(importer: Importer): void {
    importer.isRunning = false
    for (const session of importer.sessions.values()) if (session.state === 'live') this.#leftExporter(session)
    importer.sessions.clear()
  }

  #leftExporter(session: Session): void {
    for (const lease of session.leases) {
      loosen(lease)
      lease.export.leases.delete(lease)
      this.#drop(lease.export)
    }
  }

  #endIfIdle(lease: Lease): void {
    if (lease.memories.size + lease.views.size > 0) return
    lease.session.leases.delete(lease)
    lease.export.leases.delete(lease)
    this.#drop(lease.export)
  }

  withdrawnQuietly({ name, export: shared }: Publication): void {
    shared.memory.exporter.names.delete(name)
    shared.names.delete(name)
    for (const { names } of shared.leases) names.delete(name)
    this.#drop(shared)
  }

  #drop(shared: Export): void {
    if (shared.names.size + shared.leases.size === 0) shared.memory.exports.delete(shared)
  }
}

/** Whether a call of unpublish has ended as it must: when the leases of its time have. */
export function isInOrder({ held, perhaps, hasEnded }: Ticket): boolean {
  const isLive = (lease: Lease): boolean => lease.export.leases.has(lease)
  return hasEnded ? ![...held].some(isLive) : [...held, ...perhaps].some(isLive)
}

function servedExport(memory: Memory): Export | undefined {
  return [...memory.exports].find(({ names }) => names.size > 0)
}

function mayTrust({ keys }: Session, key: number | undefined): string {
  if (keys === undefined) return 'ok'
  if (key === undefined) return 'UNAUTHENTICATED'
  return keys.includes(key) ? 'ok' : 'UNKNOWN_KEY'
}

// The exporter owes nothing any more for what was opened by a name, or by any.
function loosen({ memories, views }: Lease, ...name: (string | undefined)[]): void {
  for (const opened of memories) if (name.length === 0 || opened.name === name[0]) opened.isLoose = true
  for (const view of views) if (name.length === 0 || view.of.name === name[0]) view.isLoose = true
}
