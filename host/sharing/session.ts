/** The importer's side of a connection: lists what is published, opens it under leases, and hears of its end. */
import { EventEmitter } from 'node:events'
import { decodeWith } from '../core/decode.ts'
import { fromHex, toHex, toUuid } from '../core/bytes.ts'
import { HEADER } from '../core/names.generated.ts'
import { deviceOf, selectDevice, type Device } from '../device.ts'
import { diagnose } from '../diagnostics.ts'
import { environment } from '../environment.ts'
import { DriverError, HandleError, PeerError, StateError, typeError } from '../errors.ts'
import type { Lease } from '../held.ts'
import type { EnvelopeKey } from '../keys.ts'
import { MemoryIPCDevice } from '../memory.ts'
import { EnvelopeOpening } from '../open.ts'
import { checkOptions } from '../options.ts'
import type { Descriptor } from '../descriptor.ts'
import { byExport, checkAnswers, checkInside, checkOpened, listing, type Asked, type Listing } from './entries.ts'
import type { FdChannel } from './fd_channel.ts'
import { SessionLease, cut, type Range } from './lease.ts'
import { Pending } from './pending.ts'
import { MAX_NAME, MAX_NAMES, decodeReply, encode, isName, type Entry, type Listed, type Opened, type Refused, type Reply, type Withdrawn } from './protocol.ts'
import { refusal } from './refusal.ts'
import { Releases } from './releases.ts'
import { deadline, type RequestOptions } from './request.ts'
import { step } from './steps.ts'

export interface ListOptions extends RequestOptions {
  /** Only names that begin with it. */
  prefix?: string
}

export interface SessionOpenOptions extends RequestOptions {
  /** The device of this process to open it on; the one of the export's UUID where it is left out. */
  device?: Device | string
}

/** A lease of a session. */
export interface SessionLeaseReport {
  readonly id: number
  readonly names: readonly string[]
  readonly allocationId: string
  readonly nbytes: number
}

export interface SessionEvents {
  /** The exporter asks for what was opened by this name to be closed; it may free the memory `graceMs` later. */
  revoked: [lease: Lease, graceMs: number]
  /** The exporter has ended, or closed. What is mapped stays valid where the driver keeps it, until it is closed. */
  exporterGone: [reason: PeerError]
  close: []
}

/** @internal */
export interface SessionTrust {
  readonly keys: readonly EnvelopeKey[] | undefined
  readonly requireAuthentication: boolean
}

type Answer = { message: Listed | Opened | Refused; descriptors: readonly Descriptor[] }

const REQUEST_MS = 10_000
const SWEEP_MS = 250
/** So long after a driver's refusal the exporter's end may be heard of. */
const GONE_MS = 100
/** A lease that is opened and closed all the time may cross an open so often. */
const MOST_ASKS = 32

/** A connection to an exporter. Made by `connect`. It keeps the process alive only while requests are under way. */
export class Session extends EventEmitter<SessionEvents> {
  /** The exporter's socket. */
  readonly path: string
  readonly #channel: FdChannel
  readonly #trust: SessionTrust
  readonly #pending: Pending<Answer>
  readonly #leases = new Map<number, SessionLease>()
  readonly #byName = new Map<string, SessionLease>()
  readonly #byExport = new Map<number, SessionLease>()
  readonly #releases: Releases
  readonly #aborter = new AbortController()
  /** Notices of withdrawn names. */
  #notices = 0
  #isBusy = false
  #isReferenced = false
  #sweeper: NodeJS.Timeout | undefined
  #ended: PeerError | StateError | undefined

  /** @internal */
  constructor(channel: FdChannel, path: string, trust: SessionTrust) {
    super()
    this.path = path
    this.#channel = channel.unref()
    this.#trust = trust
    this.#pending = new Pending((isBusy) => this.#keepAlive((this.#isBusy = isBusy)))
    this.#releases = new Releases(channel, (error) => this.#gone(error))
    void channel.peerExited.then((how) => how === 'exited' && this.#gone(), (error: unknown) => this.#gone(error))
    void this.#run()
  }

  /** Aborted when the exporter is gone (a PeerError) or the session is closed (a StateError). */
  get signal(): AbortSignal {
    return this.#aborter.signal
  }

  get isClosed(): boolean {
    return this.#ended !== undefined
  }

  /** What is published, in the order of the names. */
  async list(options: ListOptions = {}): Promise<Listing[]> {
    checkOptions(options, ['prefix', 'timeoutMs', 'signal'], 'list')
    deadline(options, 'list')
    return (await this.#entries(options)).map(listing)
  }

  /**
   * Opens what is published as `name`. While something of the same export is open, this asks nobody: neither the exporter
   * nor the driver.
   *
   * @param name - or an envelope that was kept: it is opened only while its allocation is still published
   * @throws PeerError `ERR_USM_IPC_NO_SUCH_NAME`, `ERR_USM_IPC_EXPORTER_GONE`, `ERR_USM_IPC_TIMEOUT`; HandleError with the
   *   verdict on the envelope; DriverError
   */
  async open(name: string | Uint8Array, options?: SessionOpenOptions): Promise<MemoryIPCDevice> {
    if (options === undefined && typeof name === 'string') {
      const cached = this.#cached(name)
      if (cached !== undefined) return cached
    }
    checkOptions(options, ['device', 'timeoutMs', 'signal'], 'open')
    deadline(options, 'open')
    const device = options?.device === undefined ? undefined : selectDevice(options.device)
    if (name instanceof Uint8Array) return this.#openKept(name, device, options ?? {})
    if (!isName(name)) throw typeError('invalid-name', 'open: a name has 1 to 255 bytes of UTF-8 without control characters')
    return this.#cached(name, device) ?? this.#openNamed(name, device, options ?? {})
  }

  /**
   * Opens everything, or all that begins with a prefix: one lease and one mapping for each export, however many names it has.
   * Names that are withdrawn meanwhile are left out.
   */
  async openAll(options: ListOptions & SessionOpenOptions = {}): Promise<Map<string, MemoryIPCDevice>> {
    checkOptions(options, ['prefix', 'device', 'timeoutMs', 'signal'], 'openAll')
    deadline(options, 'openAll')
    const device = options.device === undefined ? undefined : selectDevice(options.device)
    const notices = this.#notices
    const entries = await this.#entries(options)
    const opened = new Map<string, MemoryIPCDevice>()
    const failures = (await Promise.allSettled(byExport(entries).map((group) => this.#openGroup(group, notices, device, options, opened))))
      .filter((result) => result.status === 'rejected')
    if (failures.length > 0 || this.isClosed) {
      for (const memory of opened.values()) memory.close()
      throw (failures[0]?.reason ?? this.#ended) as Error
    }
    const inOrder = entries.filter(({ name }) => opened.has(name))
    return new Map(inOrder.map(({ name }) => [name, opened.get(name)!]))
  }

  /** Every lease that this session holds. */
  leases(): SessionLeaseReport[] {
    return [...this.#leases.values()].map(({ id, names, allocationId, nbytes }) => ({ id, names, allocationId, nbytes }))
  }

  /** Closes everything that was opened through it, and the connection: the exporter's leases end. Idempotent. */
  async close(): Promise<void> {
    if (this.#channel.isClosed && this.#leases.size === 0) return
    this.#end(new StateError('closed', 'the session has been closed'))
    for (const lease of this.#leases.values()) {
      for (const memory of lease.memories()) (memory as MemoryIPCDevice).close()
      lease.abandon() // views may be left, but the exporter counts on nobody any more
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** An open session keeps the process alive: for who waits for its events. */
  ref(): this {
    this.#isReferenced = true
    this.#keepAlive(true)
    return this
  }

  /** Only requests that are under way keep the process alive (the default). */
  unref(): this {
    this.#isReferenced = false
    this.#keepAlive(this.#isBusy)
    return this
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `Session { path: '${this.path}', leases: ${this.#leases.size}, closed: ${this.isClosed} }`
  }

  #keepAlive(keepsAlive: boolean): void {
    if (keepsAlive || this.#isReferenced) this.#channel.ref()
    else this.#channel.unref()
  }

  #cached(name: string, device?: Device): MemoryIPCDevice | undefined {
    const lease = this.#byName.get(name)
    const entry = lease?.entries.get(name)
    if (lease === undefined || entry === undefined || !lease.isOpen) return undefined
    checkDevice(name, lease, device)
    return cut(lease, entry)
  }

  async #openGroup([first, ...others]: Entry[], notices: number, device: Device | undefined, options: RequestOptions, opened: Map<string, MemoryIPCDevice>): Promise<void> {
    const open = async ({ name }: Entry): Promise<void> => {
      const memory = this.#cached(name, device) ?? (await this.#unlessWithdrawn(name, device, options))
      if (memory !== undefined) opened.set(name, memory)
    }
    await open(first!)
    const lease = this.#byExport.get(first!.export)
    // Listed before the lease was taken, nothing had changed when it was, and no notice has come since.
    const isCurrent = lease?.entries.get(first!.name)?.revision === first!.revision
    for (const entry of others) {
      if (isCurrent && lease.isOpen && this.#notices === notices) {
        checkInside(entry, lease)
        this.#know(lease, entry)
      }
      await open(entry)
    }
  }

  async #openNamed(name: string, device: Device | undefined, options: RequestOptions): Promise<MemoryIPCDevice> {
    return this.#openRemote({ name }, (entry) => entry, device, options)
  }

  async #unlessWithdrawn(name: string, device: Device | undefined, options: RequestOptions): Promise<MemoryIPCDevice | undefined> {
    try {
      return await this.#openNamed(name, device, options)
    } catch (error) {
      if (error instanceof PeerError && error.code === 'ERR_USM_IPC_NO_SUCH_NAME') return undefined
      throw error
    }
  }

  // Its own tag and limits are checked here, whether it still stands for anything by the exporter.
  async #openKept(bytes: Uint8Array, device: Device | undefined, options: RequestOptions): Promise<MemoryIPCDevice> {
    if (this.#ended !== undefined) throw this.#ended // its keys are gone
    const { keys, requireAuthentication } = this.#trust
    const kept = decodeWith(environment().core, bytes, { kind: 'memory', now: Date.now(), ...(keys && { keys: [...keys] }), requireAuthentication })
    return this.#openRemote({ allocation: fromHex(kept.allocationId)! }, (_, lease) => {
      const offset = kept.offset - lease.offset
      if (offset < 0 || offset + kept.nbytes > lease.nbytes) throw new HandleError('range-outside-allocation', 'the handle\'s range is not what the exporter publishes of that allocation')
      return { name: undefined, offset, nbytes: kept.nbytes, array: undefined, metadata: undefined }
    }, device, options)
  }

  async #openRemote(
    asked: Asked, rangeOf: (entry: Entry, lease: SessionLease) => Range,
    device: Device | undefined, { signal, timeoutMs = REQUEST_MS }: RequestOptions,
  ): Promise<MemoryIPCDevice> {
    const until = performance.now() + timeoutMs
    for (let asks = 0; asks < MOST_ASKS; asks++) {
      const memory = await this.#pending.ask(
        (id) => this.#send({ t: 'open', id, ...asked }, 'importer:open'),
        (opened) => this.#opened(opened, asked, rangeOf, device),
        { signal, timeoutMs: until - performance.now() }, 'open',
      ).catch((error: unknown) => this.#unlessGone(error))
      // Otherwise: a lease that was released after the exporter had the request. It has that release now.
      if (memory !== undefined) return memory
    }
    throw new PeerError('protocol', 'the exporter answers again and again with a lease that this session does not hold')
  }

  // A driver opens nothing of a process that died between its answer and this: then that is what is said.
  async #unlessGone(error: unknown): Promise<never> {
    if (error instanceof DriverError && this.#ended === undefined) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, GONE_MS)
        this.signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
      })
    }
    throw error instanceof DriverError && this.#ended !== undefined ? this.#ended : error
  }

  #opened(
    { message, descriptors }: Answer, asked: Asked, rangeOf: (entry: Entry, lease: SessionLease) => Range, device: Device | undefined,
  ): MemoryIPCDevice | undefined {
    if (message.t !== 'opened') throw new PeerError('protocol', 'the exporter answered an open with something else')
    step('importer:opened')
    const { lease: id, entry, envelope } = message
    const known = this.#leases.get(id)
    if (envelope === undefined) {
      if (known === undefined) return undefined
      checkAnswers(entry, asked)
      this.#know(known, entry)
      checkDevice(entry.name, known, device)
      return cut(known, rangeOf(entry, known))
    }
    const lease = this.#adopt(message)
    try {
      checkAnswers(entry, asked)
      const target = device ?? deviceOf(entry.backend, toUuid(entry.device))
      if (target === undefined) {
        throw new DriverError('no-such-device', `open: the memory is on the ${entry.backend} device ${toUuid(entry.device)}, which this process does not have`, {
          backend: entry.backend, call: 'open', result: 'no-such-device', resultNumber: 0,
        })
      }
      const { keys, requireAuthentication } = this.#trust
      const trust = keys === undefined ? { requireAuthentication } : { requireAuthentication, keys: [...keys] }
      const source = descriptors.length === 1 ? { descriptor: descriptors[0]! } : descriptors.length > 1 ? { channel: { received: descriptors } } : {}
      const opening = new EnvelopeOpening(envelope, target, undefined, { ...trust, ...source, hasLease: true, eventTimeoutMs: 0 })
      if (openingId() !== lease.allocationId) throw new PeerError('protocol', 'the exporter sent another allocation\'s envelope')
      lease.expect(opening)
      checkInside(entry, lease)
      const memory = new MemoryIPCDevice(lease.first(rangeOf(entry, lease)))
      this.#know(lease, entry)
      step('importer:mapped')
      return memory
    } catch (error) {
      lease.endIfIdle()
      throw error
    }
  }

  #adopt({ lease: id, entry }: Opened): SessionLease {
    const lease = new SessionLease(id, entry.allocation, (over) => this.#over(over, entry.export))
    this.#leases.set(id, lease)
    this.#byExport.set(entry.export, lease)
    this.#sweeper ??= setInterval(() => environment().books.sweep(), SWEEP_MS).unref()
    diagnose('lease', () => ({ event: 'taken', id, allocationId: lease.allocationId, path: this.path }))
    return lease
  }

  #know(lease: SessionLease, entry: Entry): void {
    lease.entries.set(entry.name, entry)
    this.#byName.set(entry.name, lease)
  }

  #over(lease: SessionLease, exported: number): void {
    this.#leases.delete(lease.id)
    for (const name of lease.entries.keys()) if (this.#byName.get(name) === lease) this.#byName.delete(name)
    if (this.#byExport.get(exported) === lease) this.#byExport.delete(exported)
    if (this.#leases.size === 0) {
      clearInterval(this.#sweeper)
      this.#sweeper = undefined
    }
    diagnose('lease', () => ({ event: 'ended', id: lease.id, allocationId: lease.allocationId, path: this.path }))
    if (this.isClosed) return
    this.#releases.add(lease.id)
  }

  async #entries({ prefix = '', signal, timeoutMs = REQUEST_MS }: ListOptions): Promise<Entry[]> {
    if (typeof prefix !== 'string' || prefix.length > MAX_NAME) throw typeError('invalid-name', `list: prefix must be a string of at most ${MAX_NAME} characters`)
    const until = performance.now() + timeoutMs
    const entries: Entry[] = []
    for (let after = ''; ;) {
      const page = await this.#pending.ask(
        (id) => this.#send({ t: 'list', id, prefix, after }, 'importer:list'),
        ({ message }) => {
          if (message.t !== 'listed') throw new PeerError('protocol', 'the exporter answered a list with something else')
          return message
        },
        { signal, timeoutMs: until - performance.now() }, 'list',
      )
      step('importer:listed')
      for (const entry of page.entries) {
        if (!(entry.name > after)) throw new PeerError('protocol', 'the exporter lists names again, or out of order')
        after = entry.name
        entries.push(entry)
      }
      if (!page.more || page.entries.length === 0) return entries
      if (entries.length > MAX_NAMES) throw new PeerError('protocol', `the exporter lists more than ${MAX_NAMES} names`)
    }
  }

  #send(message: Parameters<typeof encode>[0], before: 'importer:open' | 'importer:list'): void {
    step(before)
    this.#channel.send(encode(message)).catch((error: unknown) => this.#gone(error))
  }

  async #run(): Promise<void> {
    try {
      for (;;) {
        const { bytes, descriptors } = await this.#channel.receive()
        try {
          this.#take(decodeReply(bytes), descriptors)
        } finally {
          for (const descriptor of descriptors) descriptor.close()
        }
      }
    } catch (error) {
      this.#gone(error)
    }
  }

  #take(message: Reply, descriptors: readonly Descriptor[]): void {
    switch (message.t) {
      case 'welcome':
        throw new PeerError('protocol', 'the exporter welcomed this session twice')
      case 'withdrawn': {
        this.#withdrawn(message)
        return step('importer:withdrawn')
      }
      case 'refused':
        if (this.#pending.answer(message.id, refusal(message)) === 'never asked') throw new PeerError('protocol', 'the exporter answered a request that was not made')
        return
      default: {
        if (message.t === 'opened') checkOpened(message, this.#leases)
        const taken = this.#pending.answer(message.id, { message, descriptors })
        if (taken === 'never asked') throw new PeerError('protocol', 'the exporter answered a request that was not made')
        // The asker gave up: nobody will close what it would have got.
        if (taken === 'given up' && message.t === 'opened' && message.envelope !== undefined) this.#adopt(message).endIfIdle()
      }
    }
  }

  #withdrawn({ lease: id, names, revoked, graceMs, all }: Withdrawn): void {
    const lease = this.#leases.get(id)
    if (lease === undefined) return // released meanwhile
    this.#notices += 1
    if (all === true && revoked) {
      for (const name of lease.entries.keys()) if (this.#byName.get(name) === lease) this.#byName.delete(name)
      diagnose('revoke', () => ({ id, allocationId: lease.allocationId, graceMs, path: this.path }))
      for (const share of lease.revokeAll(new PeerError('revoked', 'the exporter has revoked everything: close it'))) this.#emit('revoked', share, graceMs)
      return
    }
    for (const name of names) {
      if (this.#byName.get(name) === lease) this.#byName.delete(name)
      const reason = revoked ? new PeerError('revoked', `the exporter has revoked '${name}': close it`) : undefined
      const shares = lease.withdraw(name, reason)
      if (!revoked) continue
      diagnose('revoke', () => ({ name, id, allocationId: lease.allocationId, graceMs, path: this.path }))
      for (const share of shares) this.#emit('revoked', share, graceMs)
    }
  }

  // Hung up, exited, or broke the rules.
  #gone(cause?: unknown): void {
    if (this.isClosed) return
    const why = cause instanceof PeerError && cause.code === 'ERR_USM_IPC_PROTOCOL' ? `: ${cause.message}` : ''
    const reason = new PeerError('exporter-gone', `the exporter at ${this.path} has ended the session, or ended itself${why}`, cause === undefined ? undefined : { cause })
    this.#ended = reason // before any listener runs
    for (const lease of this.#leases.values()) lease.orphan(reason)
    this.#emit('exporterGone', reason)
    this.#end(reason)
  }

  #end(reason: PeerError | StateError): void {
    this.#ended ??= reason
    this.#channel.shut()
    if (this.#aborter.signal.aborted) return
    step('importer:disconnected')
    this.#byName.clear()
    this.#byExport.clear()
    this.#pending.fail(reason)
    for (const { key } of this.#trust.keys ?? []) key.fill(0)
    this.#emit('close')
    this.#aborter.abort(reason)
  }

  // A listener that throws is the caller's business, not the connection's.
  #emit<Name extends keyof SessionEvents>(name: Name, ...args: SessionEvents[Name]): void {
    if (this.listenerCount(name) > 0) queueMicrotask(() => (this as EventEmitter).emit(name, ...args))
  }
}

function checkDevice(name: string, lease: SessionLease, device: Device | undefined): void {
  if (device === undefined || device.uuid === lease.device?.uuid) return
  throw new HandleError('wrong-device', `open: '${name}' is on another device than ${device.selector}`)
}

// Of the envelope that was validated last.
function openingId(): string {
  const { core: { u8, inputAt } } = environment()
  const at = inputAt + HEADER.allocation_random
  return toHex(u8.subarray(at, at + 16))
}
