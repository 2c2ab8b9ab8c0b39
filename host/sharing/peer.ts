/** The exporter's side of one connection: who it is, what it asks, which leases it holds. */
import type { PeerCredentials } from '../addon.ts'
import { PeerError, isUsmIpcError } from '../errors.ts'
import type { FdChannel, SendOptions } from './fd_channel.ts'
import { Allowance, type Limits } from './limits.ts'
import { MAX_WITHDRAWN, PROTOCOL_VERSION, decodeRequest, encode, type Reply, type Request, type Withdrawn } from './protocol.ts'
import type { ExportLease, LeaseHolder, Publication, Published } from './published.ts'
import { step } from './steps.ts'

/** The process at the other end. */
export interface Peer {
  /** 0 where it is in a pid namespace that this process cannot see. */
  readonly pid: number
  readonly uid: number
  readonly gid: number
}

/** What a connection asks of its exporter. */
export interface PeerHost {
  readonly limits: Limits
  /** Throws a PeerError where the peer is not to be served. */
  admit(credentials: PeerCredentials): Promise<void>
  welcomed(connection: PeerConnection): void
  page(prefix: string, after: string): { entries: Publication[]; more: boolean }
  /** The publication that is asked for, or a PeerError with the reason. */
  find(request: { name?: string | undefined; allocation?: Uint8Array | undefined }): Publication
  /** The connection's lease on the publication's export: the one that it has, or a new one. */
  lease(publication: Publication, holder: PeerConnection): { lease: ExportLease; isNew: boolean }
  end(lease: ExportLease): void
  /** The connection is over. */
  left(connection: PeerConnection, why: Error): void
}

/** To list so many entries takes as much as another request. */
const ENTRIES_A_REQUEST = 16

export class PeerConnection implements LeaseHolder {
  readonly peer: Peer
  readonly #leases = new Map<number, ExportLease>()
  readonly #byExport = new Map<Published, ExportLease>()
  readonly #channel: FdChannel
  readonly #host: PeerHost
  readonly #allowance: Allowance
  /** Leases that this side ended; the peer's release of them may be under way. */
  readonly #ended = new Set<number>()
  /** Notices that wait for the socket, by lease and kind. */
  readonly #notices = new Map<string, Withdrawn>()
  #notifying: Promise<void> | undefined
  #isOver = false
  #welcomed = false

  constructor(channel: FdChannel, host: PeerHost) {
    const { pid, uid, gid } = channel.peer
    this.peer = Object.freeze({ pid, uid, gid })
    this.#channel = channel
    this.#host = host
    this.#allowance = new Allowance(host.limits, performance.now())
  }

  get wasWelcomed(): boolean {
    return this.#welcomed
  }

  /** Welcomed and not over. */
  get isServed(): boolean {
    return this.#welcomed && !this.#isOver
  }

  /** Serves the peer until it is gone or breaks a rule. Never rejects. */
  async serve(): Promise<void> {
    try {
      // Whichever is first: a forked child may keep the socket of a dead peer open.
      // (A channel that was shut over a broken frame is no hang-up: the receive says what was broken.)
      void this.#channel.hangup.then(() => this.#channel.isClosed || this.#gone(), () => this.#gone())
      void this.#channel.peerExited.then((how) => how === 'exited' && this.#gone(), () => this.#gone())
      step('exporter:accepted')
      await this.#greet()
      for (;;) {
        const request = decodeRequest(await this.#receive())
        if (this.#isOver) return // meanwhile: a lease that was given now would never end
        await this.#handle(request)
      }
    } catch (error) {
      this.end(error instanceof Error ? error : new Error(String(error)))
    }
  }

  /** Ends the connection and its leases. Idempotent. */
  end(why: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#channel.shut()
    this.#notices.clear()
    for (const lease of this.#leases.values()) this.#host.end(lease)
    this.#leases.clear()
    this.#byExport.clear()
    this.#host.left(this, why)
  }

  /** The lease is over on this side: the peer has been told, and a release of it is no longer an error. */
  forget(lease: ExportLease): void {
    if (this.#remove(lease)) this.#ended.add(lease.id)
  }

  /** The lease that the peer holds on an export. */
  leaseOn(shared: Published): ExportLease | undefined {
    return this.#byExport.get(shared)
  }

  /** Live leases, and those whose release is still to come. */
  get leases(): number {
    return this.#leases.size + this.#ended.size
  }

  /** Tells the peer that a name is no longer served. A peer that does not take the notice off its socket is dropped. */
  withdraw(lease: ExportLease, name: string, revoked: boolean, graceMs: number): void {
    if (this.#isOver) return
    const kind = `${lease.id}:${revoked}:${graceMs}`
    let notice = this.#notices.get(kind)
    if (notice === undefined || notice.names.length >= MAX_WITHDRAWN) {
      if (notice !== undefined) this.#notices.set(`${kind}:${name}`, notice) // full: it leaves as it is
      notice = { t: 'withdrawn', lease: lease.id, names: [], revoked, graceMs }
      this.#notices.set(kind, notice)
    }
    notice.names.push(name)
    this.#notifying ??= this.#notify()
  }

  /** Tells the peer that the lease as a whole is revoked. */
  revoke(lease: ExportLease, graceMs: number): void {
    if (this.#isOver) return
    this.#notices.set(`${lease.id}:all`, { t: 'withdrawn', lease: lease.id, names: [...lease.names].slice(0, MAX_WITHDRAWN), revoked: true, graceMs, all: true })
    this.#notifying ??= this.#notify()
  }

  async #notify(): Promise<void> {
    try {
      await undefined // names that are withdrawn together go together
      for (const [kind, notice] of this.#notices) {
        this.#notices.delete(kind)
        step('exporter:withdraw')
        await this.#send(notice)
        step('exporter:withdrawn')
      }
    } catch (error) {
      this.end(error as Error)
    } finally {
      this.#notifying = undefined
    }
  }

  async #greet(): Promise<void> {
    const { helloMs } = this.#host.limits
    let hello: Request
    try {
      hello = decodeRequest(await this.#receive(helloMs))
    } catch (error) {
      await this.#refuse(0, 'protocol', 'the first message was no hello').catch(() => {}) // the error says why
      throw error
    }
    step('exporter:hello')
    if (hello.t !== 'hello') {
      await this.#refuse(0, 'protocol', 'the first message was no hello')
      throw new PeerError('protocol', 'the peer did not begin with a hello')
    }
    try {
      if (!hello.versions.includes(PROTOCOL_VERSION)) {
        throw new PeerError('unsupported-protocol', `this exporter speaks version ${PROTOCOL_VERSION} of the protocol, the importer ${hello.versions.join(', ')}`)
      }
      await this.#host.admit(this.#channel.peer)
    } catch (error) {
      await this.#refuse(0, reasonOf(error), isUsmIpcError(error) ? error.message : 'the exporter could not authorize this connection')
      throw error
    }
    step('exporter:authorized')
    if (this.#isOver) return
    this.#welcomed = true
    this.#host.welcomed(this)
    await this.#send({ t: 'welcome', version: PROTOCOL_VERSION })
    step('exporter:welcomed')
  }

  async #handle(request: Request): Promise<void> {
    this.#charge(1)
    switch (request.t) {
      case 'list': {
        step('exporter:list')
        const { entries, more } = this.#host.page(request.prefix, request.after)
        this.#charge(entries.length / ENTRIES_A_REQUEST)
        await this.#send({ t: 'listed', id: request.id, entries: entries.map((p) => p.export.entry(p)), more })
        return step('exporter:listed')
      }
      case 'open':
        return this.#open(request)
      case 'release':
        step('exporter:release')
        for (const id of request.leases) this.#release(id)
        return step('exporter:released')
      case 'hello':
        throw new PeerError('protocol', 'the peer said hello twice')
    }
  }

  async #open(request: { id: number; name?: string | undefined; allocation?: Uint8Array | undefined }): Promise<void> {
    step('exporter:open')
    // What was withdrawn before is told before: the name may stand for something else by now.
    while (this.#notifying !== undefined) await this.#notifying
    if (this.#isOver) return
    let publication: Publication
    let descriptors: SendOptions['descriptors']
    let taken: { lease: ExportLease; isNew: boolean }
    try {
      publication = this.#host.find(request)
      descriptors = publication.export.handle.descriptors
      taken = this.#host.lease(publication, this)
    } catch (error) {
      if (!isUsmIpcError(error)) throw error
      return this.#refuse(request.id, reasonOf(error), error.message)
    }
    const { lease, isNew } = taken
    if (isNew) {
      this.#leases.set(lease.id, lease)
      this.#byExport.set(lease.export, lease)
    }
    lease.names.add(publication.name)
    step('exporter:leased')
    const { envelope } = publication.export
    await this.#send(
      { t: 'opened', id: request.id, lease: lease.id, entry: publication.export.entry(publication), envelope: isNew ? envelope : undefined },
      isNew ? descriptors : undefined,
    )
    step('exporter:opened')
  }

  #charge(requests: number): void {
    if (this.#allowance.take(performance.now(), requests)) return
    throw new PeerError('flood', `the peer makes more than ${this.#host.limits.requestsPerSecond} requests a second`)
  }

  #release(id: number): void {
    const lease = this.#leases.get(id)
    if (lease === undefined) {
      if (this.#ended.delete(id)) return
      throw new PeerError('protocol', 'the peer released a lease that it does not hold')
    }
    this.#remove(lease)
    this.#host.end(lease)
  }

  #remove(lease: ExportLease): boolean {
    this.#byExport.delete(lease.export)
    return this.#leases.delete(lease.id)
  }

  async #refuse(id: number, code: string, message: string): Promise<void> {
    await this.#send({ t: 'refused', id, code, message: message.slice(0, 1024) })
  }

  async #receive(timeoutMs = Infinity): Promise<Uint8Array> {
    return (await this.#channel.receive({ timeoutMs, descriptors: false })).bytes
  }

  #send(message: Reply, descriptors?: SendOptions['descriptors']): Promise<void> {
    return this.#channel.send(encode(message), { timeoutMs: this.#host.limits.sendMs, descriptors })
  }

  #gone(): void {
    this.end(new PeerError('peer-gone', 'the importer has gone'))
  }
}

/** `ERR_USM_IPC_NO_SUCH_NAME` as it travels: `no-such-name`. */
function reasonOf(error: unknown): string {
  const code = isUsmIpcError(error) ? error.code : 'ERR_USM_IPC_REFUSED'
  return code.replace('ERR_USM_IPC_', '').toLowerCase().replaceAll('_', '-').slice(0, 40)
}
