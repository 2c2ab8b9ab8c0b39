/** The exporter: publishes memory under names, and gives leases on it to those who connect. */
import { EventEmitter } from 'node:events'
import type { PeerCredentials } from '../addon.ts'
import { toHex } from '../core/bytes.ts'
import { MESSAGES, VERDICTS } from '../core/names.generated.ts'
import { diagnose } from '../diagnostics.ts'
import { environment } from '../environment.ts'
import { PeerError, StateError } from '../errors.ts'
import { checkKey, type EnvelopeKey } from '../keys.ts'
import type { MemoryUSMDevice } from '../memory.ts'
import { checkListen, checkMs, checkPublish, checkUnpublish, type CheckedListen, type ExporterOptions, type PublishOptions, type UnpublishOptions } from './exporter_options.ts'
import { FdChannel } from './fd_channel.ts'
import type { FdListener } from './fd_listener.ts'
import type { Limits } from './limits.ts'
import { NameIndex } from './name_index.ts'
import { PeerConnection, type Peer, type PeerHost } from './peer.ts'
import { ENTRY_BYTES } from './protocol.ts'
import { Published, type ExportLease, type Publication } from './published.ts'
import { checkSignal } from '../copy.ts'
import { checkOptions } from '../options.ts'
import { step } from './steps.ts'
import { leasesEnd, within } from './waiting.ts'

/** A lease as the exporter sees it. */
export interface ExporterLease {
  readonly id: number
  /** The names that the importer asked for. */
  readonly names: readonly string[]
  /** 32 hexadecimal digits. */
  readonly allocationId: string
  /** Bytes of the export. */
  readonly nbytes: number
  readonly peer: Peer
  /** Milliseconds since 1970. */
  readonly since: number
}

/** A published name. */
export interface PublicationReport {
  readonly name: string
  readonly nbytes: number
  readonly offset: number
  readonly allocationId: string
  /** Live leases on the export that it is a range of. */
  readonly leases: number
}

export interface ExporterEvents {
  /** A connection was admitted, or ended. */
  connect: [peer: Peer]
  disconnect: [peer: Peer, why: Error]
  /** A connection was ended before it was admitted. */
  refuse: [peer: Peer, why: Error]
  lease: [lease: ExporterLease]
  release: [lease: ExporterLease]
}

const construct = Symbol('construct')
const RETRY_MS = 100

/**
 * Listens on a Unix socket and serves what is published to the processes that connect.
 *
 * @throws DriverError `ERR_USM_IPC_ADDRESS_IN_USE` where another process listens there; TypeError and RangeError for options
 * @example
 * ```ts
 * import { connect, listen, MemoryUSMDevice } from 'usm-ipc'
 *
 * const memory = new MemoryUSMDevice(4096, { device: 'host' })
 * await using exporter = await listen({ path: '/tmp/example-listen.sock' })
 * exporter.publish('weights', memory, { metadata: { step: 1000 } })
 * // in any other process of this user:
 * await using session = await connect('/tmp/example-listen.sock')
 * using weights = await session.open('weights')
 * console.assert(weights.nbytes === 4096 && exporter.leases().length === 1)
 * ```
 */
export async function listen(options: ExporterOptions): Promise<Exporter> {
  const checked = checkListen(options)
  try {
    return new Exporter(construct, checked, FdChannel.listen(checked.path, { mode: checked.mode, replace: 'dead' }))
  } catch (error) {
    checked.key?.key.fill(0)
    throw error
  }
}

/** Publishes memory to other processes. Made by `listen`; keeps the process alive while it listens, unless `unref()`. */
export class Exporter extends EventEmitter<ExporterEvents> {
  /** The socket's absolute path. */
  readonly path: string
  readonly #listener: FdListener<FdChannel>
  readonly #options: CheckedListen
  readonly #host: PeerHost
  #key: EnvelopeKey | undefined
  readonly #names = new NameIndex<Publication>()
  readonly #exports = new Map<string, Published>()
  readonly #byAllocation = new Map<string, Published>()
  readonly #leases = new Map<number, ExportLease>()
  readonly #connections = new Set<PeerConnection>()
  readonly #perUser = new Map<number, number>()
  readonly #channels = new Set<FdChannel>()
  #lastLease = 0
  #keepsAlive = true
  #closing: Promise<void> | undefined

  /** @internal */
  constructor(key: symbol, options: CheckedListen, listener: FdListener<FdChannel>) {
    super()
    if (key !== construct) throw new StateError('not-constructible', 'an Exporter is made by listen()')
    this.#options = options
    this.#key = options.key
    this.#listener = listener
    this.#host = this.#hostFor(options.limits)
    this.path = listener.path
    step('exporter:listening')
    void this.#accept()
  }

  /**
   * Serves memory under a name. Names of one memory share one export: one handle, one lease a session, one mapping. What
   * is published stays until `unpublish` or `close`, and as long as there are leases on it, even when `memory` is closed.
   *
   * @param name - 1 to 255 bytes of UTF-8, not published already
   * @throws StateError `ERR_USM_IPC_NAME_TAKEN`; what exporting the memory throws
   */
  publish(name: string, memory: MemoryUSMDevice, options: PublishOptions = {}): void {
    const { offset, nbytes, array, metadata, ttl } = checkPublish(name, memory, options)
    this.#live('publish')
    if (this.#names.get(name) !== undefined) throw new StateError('name-taken', `publish: '${name}' is published already: unpublish it first`)
    if (this.#names.size >= this.#options.limits.names) {
      throw new StateError('too-many-names', `publish: ${this.#names.size} names are published, which is limits.names`)
    }
    const key = Published.keyOf(memory)
    let shared = this.#exports.get(key)
    if (shared === undefined || shared.names.size === 0) {
      shared = new Published(key, memory, this.#key)
      this.#exports.set(key, shared)
      this.#byAllocation.set(toHex(shared.allocation), shared)
    }
    const size = ENTRY_BYTES + 3 * name.length + (array?.length ?? 0) + (metadata?.length ?? 0)
    const publication: Publication = { name, export: shared, offset, nbytes, array, metadata, size, expiry: undefined }
    if (ttl !== undefined) publication.expiry = setTimeout(() => this.#withdraw(publication, false, 0), ttl).unref()
    shared.names.set(name, publication)
    shared.revision += 1
    this.#names.set(name, publication)
    diagnose('export', () => ({ name, nbytes, offset, allocationId: toHex(shared.allocation), path: this.path }))
    step('exporter:published')
  }

  /**
   * Stops serving a name. Resolves when no lease that may know it is left, so that its bytes are this process's alone: at
   * the latest `graceMs` after the importers were told, with `revoke`; otherwise whenever they close what they opened.
   * The name of a part of a larger export ends alone; the leases on the rest go on after a revocation.
   *
   * @throws StateError `ERR_USM_IPC_NO_SUCH_NAME`
   */
  async unpublish(name: string, options: UnpublishOptions = {}): Promise<void> {
    const { revoke, graceMs, signal } = checkUnpublish(options)
    checkSignal(signal, 'unpublish')
    const publication = this.#names.get(name)
    if (publication === undefined) throw new StateError('no-such-name', `unpublish: '${String(name)}' is not published`)
    const { export: shared } = publication
    const held = [...shared.leases]
    this.#withdraw(publication, revoke, graceMs)
    if (revoke) this.#endAfter(shared, graceMs)
    await leasesEnd(shared, held, revoke ? graceMs : undefined, signal)
    step('exporter:unpublished')
  }

  /** Every published name. */
  publications(): PublicationReport[] {
    return this.#names.values().map(({ name, nbytes, offset, export: shared }) => (
      { name, nbytes, offset, allocationId: toHex(shared.allocation), leases: shared.leases.size }
    ))
  }

  /** Every live lease. */
  leases(): ExporterLease[] {
    return [...this.#leases.values()].map(report)
  }

  /** Connections that are served. */
  get peers(): readonly Peer[] {
    return [...this.#connections].filter((c) => c.isServed).map((c) => c.peer)
  }

  /** From here on envelopes carry a tag of this key; those that were given out keep theirs. */
  rotateKey(key: EnvelopeKey): void {
    this.#live('rotateKey')
    const fresh = checkKey(key, 'rotateKey: key')
    this.#key?.key.fill(0)
    this.#key = fresh
    for (const shared of this.#exports.values()) shared.authenticate(this.#key)
  }

  get isClosed(): boolean {
    return this.#closing !== undefined
  }

  /**
   * Tells the importers, waits at most `graceMs` for them to close what they opened, and ends everything. Idempotent.
   *
   * @param options - graceMs: milliseconds, 1000 where it is left out
   */
  close(options: { graceMs?: number } = {}): Promise<void> {
    checkOptions(options, ['graceMs'], 'close')
    const graceMs = checkMs(options.graceMs ?? 1000, 'close: graceMs', 0)
    return (this.#closing ??= this.#close(graceMs))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Listening keeps the process alive (the default). */
  ref(): this {
    return this.#keepAlive(true)
  }

  /** Neither listening nor connections keep the process alive. */
  unref(): this {
    return this.#keepAlive(false)
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `Exporter { path: '${this.path}', names: ${this.#names.size}, leases: ${this.#leases.size}, closed: ${this.isClosed} }`
  }

  async #close(graceMs: number): Promise<void> {
    step('exporter:closing')
    this.#listener.close()
    const all = new Set([...this.#names.values().map((p) => p.export), ...[...this.#leases.values()].map((lease) => lease.export)])
    for (const publication of this.#names.values()) this.#withdraw(publication, true, graceMs)
    // What was only withdrawn so far is to be closed, too.
    for (const lease of this.#leases.values()) if (lease.isPromised) lease.holder.revoke(lease, graceMs)
    await Promise.all([...all].map((shared) => leasesEnd(shared, [...shared.leases], graceMs, undefined)))
    for (const connection of this.#connections) connection.end(new StateError('closed', 'the exporter has been closed'))
    for (const channel of this.#channels) channel.shut() // not yet admitted
    for (const shared of all) this.#endLeases(shared, () => true)
    this.#key?.key.fill(0)
    step('exporter:closed')
  }

  async #accept(): Promise<void> {
    while (!this.#listener.isClosed) {
      let channel: FdChannel
      try {
        channel = await this.#listener.accept()
      } catch {
        if (this.#listener.isClosed) return
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, RETRY_MS)
          if (!this.#keepsAlive) timer.unref()
        })
        continue
      }
      if (this.isClosed) channel.shut() // accepted while it was being closed
      else void this.#serve(channel)
    }
  }

  async #serve(channel: FdChannel): Promise<void> {
    const { limits } = this.#options
    const { uid } = channel.peer
    const ofUser = this.#perUser.get(uid) ?? 0
    if (this.#channels.size >= limits.peers || ofUser >= limits.peersPerUser) {
      const { pid, gid } = channel.peer
      channel.shut()
      return this.#emit('refuse', { pid, uid, gid }, new PeerError('too-many-peers', `${this.#channels.size} processes are connected, ${ofUser} of user ${uid}`))
    }
    this.#channels.add(channel)
    this.#perUser.set(uid, ofUser + 1)
    if (!this.#keepsAlive) channel.unref()
    const connection = new PeerConnection(channel, this.#host)
    this.#connections.add(connection)
    await connection.serve()
    this.#channels.delete(channel)
    const left = this.#perUser.get(uid)! - 1
    if (left === 0) this.#perUser.delete(uid)
    else this.#perUser.set(uid, left)
  }

  // What the connections may ask.
  #hostFor(limits: Limits): PeerHost {
    return {
      limits,
      admit: (credentials) => this.#admit(credentials),
      welcomed: (connection) => this.#emit('connect', connection.peer),
      page: (prefix, after) => this.#names.page(prefix, after),
      find: (request) => this.#find(request),
      lease: (publication, holder) => this.#lease(publication, holder),
      end: (lease) => this.#end(lease),
      left: (connection, why) => {
        this.#connections.delete(connection)
        this.#emit(connection.wasWelcomed ? 'disconnect' : 'refuse', connection.peer, why)
      },
    }
  }

  async #admit({ pid, uid, gid, overflow }: PeerCredentials): Promise<void> {
    if (overflow) {
      throw new PeerError('overflow-uid', 'the importer\'s user has no number in the exporter\'s user namespace: both must be mapped into it')
    }
    const { authorize, limits } = this.#options
    if (authorize === undefined) {
      const own = process.geteuid!()
      if (uid !== own) throw new PeerError('unauthorized', `the exporter serves user ${own} alone, the importer is user ${uid}`)
      return
    }
    let answer: unknown
    try {
      answer = await within(limits.helloMs, authorize(Object.freeze({ pid, uid, gid })))
    } catch (cause) {
      throw new PeerError('unauthorized', 'the exporter could not authorize this connection', { cause })
    }
    if (answer !== true) throw new PeerError('unauthorized', `the exporter does not serve user ${uid}`)
  }

  #find({ name, allocation }: { name?: string | undefined; allocation?: Uint8Array | undefined }): Publication {
    if (this.isClosed) throw new PeerError('closing', 'the exporter is closing')
    if (name !== undefined) {
      const publication = this.#names.get(name)
      if (publication === undefined) throw new PeerError('no-such-name', `nothing is published as '${name}'`)
      return publication
    }
    if (allocation === undefined) throw new PeerError('no-such-name', 'the request names nothing')
    const publication = this.#byAllocation.get(toHex(allocation))?.names.values().next().value
    if (publication !== undefined) return publication
    const { core } = environment()
    core.u8.set(allocation, core.scratchAt)
    const status = core.exports.ledgerStatus(core.scratchAt)
    // Live, but no longer published: not to be opened any more, either.
    if (status === 0) throw new PeerError('no-such-name', 'the allocation that the handle names is not published')
    throw new PeerError(VERDICTS[status]!, MESSAGES[status]!)
  }

  #lease(publication: Publication, holder: PeerConnection): { lease: ExportLease; isNew: boolean } {
    const { export: shared } = publication
    const known = holder.leaseOn(shared)
    if (known !== undefined) return { lease: known, isNew: false }
    const { limits } = this.#options
    if (holder.leases >= limits.leasesPerPeer || this.#leases.size >= limits.leases) {
      throw new PeerError('too-many-leases', 'the exporter gives no more leases: close what is open first')
    }
    const lease = shared.lease(++this.#lastLease, holder)
    this.#leases.set(lease.id, lease)
    diagnose('lease', () => ({ event: 'taken', ...report(lease), path: this.path }))
    if (this.listenerCount('lease') > 0) this.#emit('lease', report(lease))
    return { lease, isNew: true }
  }

  #end(lease: ExportLease): void {
    if (!this.#leases.delete(lease.id)) return
    lease.export.end(lease)
    diagnose('lease', () => ({ event: 'ended', ...report(lease), path: this.path }))
    if (this.listenerCount('release') > 0) this.#emit('release', report(lease))
    this.#dropIfDone(lease.export)
  }

  // Ends what the importers did not: their mappings are theirs to close, what the driver keeps of them is documented.
  #endLeases(shared: Published, isOver: (lease: ExportLease) => boolean): void {
    for (const lease of shared.leases) {
      if (!isOver(lease)) continue
      lease.holder.forget(lease)
      this.#end(lease)
    }
    this.#dropIfDone(shared)
  }

  // Once the last of the times that importers were given is over.
  #endAfter(shared: Published, graceMs: number): void {
    shared.graceUntil = Math.max(shared.graceUntil, performance.now() + graceMs)
    clearTimeout(shared.grace)
    shared.grace = setTimeout(() => {
      if (shared.names.size === 0) this.#endLeases(shared, (lease) => !lease.isPromised)
    }, Math.max(0, Math.ceil(shared.graceUntil - performance.now()))).unref()
  }

  #withdraw(publication: Publication, revoke: boolean, graceMs: number): void {
    const { name, export: shared, expiry } = publication
    if (this.#names.get(name) !== publication) return
    clearTimeout(expiry)
    this.#names.delete(name)
    shared.names.delete(name)
    shared.revision += 1
    if (revoke) diagnose('revoke', () => ({ name, allocationId: toHex(shared.allocation), leases: shared.leases.size, graceMs, path: this.path }))
    for (const lease of shared.leases) {
      lease.isPromised ||= !revoke
      lease.holder.withdraw(lease, name, revoke, graceMs)
    }
    this.#dropIfDone(shared)
  }

  #dropIfDone(shared: Published): void {
    if (shared.names.size > 0) return
    if (this.#exports.get(shared.key) === shared) this.#exports.delete(shared.key)
    const id = toHex(shared.allocation)
    if (this.#byAllocation.get(id) === shared) this.#byAllocation.delete(id)
    if (shared.leases.size > 0) return
    clearTimeout(shared.grace)
    shared.close()
  }

  #keepAlive(keepsAlive: boolean): this {
    this.#keepsAlive = keepsAlive
    for (const one of [this.#listener, ...this.#channels]) if (keepsAlive) one.ref()
    else one.unref()
    return this
  }

  // A listener that throws is the caller's business, not the connection's that it was told of.
  #emit<Name extends keyof ExporterEvents>(name: Name, ...args: ExporterEvents[Name]): void {
    if (this.listenerCount(name) > 0) queueMicrotask(() => (this as EventEmitter).emit(name, ...args))
  }

  #live(what: string): void {
    if (this.isClosed) throw new StateError('closed', `${what}: this exporter has been closed`)
  }
}

function report({ id, names, export: shared, holder: { peer }, since }: ExportLease): ExporterLease {
  return { id, names: [...names], allocationId: toHex(shared.allocation), nbytes: shared.nbytes, peer, since }
}
