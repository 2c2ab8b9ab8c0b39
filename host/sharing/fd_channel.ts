/** Channels between processes: frames of bytes with file descriptors, over Unix seqpacket sockets. */
import { addon, type NativeChannel, type NativeFrame, type PeerCredentials, type PeerExit } from '../addon.ts'
import { asBytes } from '../arguments.ts'
import { Descriptor, checkFd, claimOf, descriptorFrom } from '../descriptor.ts'
import { StateError, checked, typeError } from '../errors.ts'
import { checkOptions } from '../options.ts'
import { FdListener, type ListenOptions } from './fd_listener.ts'
import { deadline, request, requestOptions, type RequestOptions } from './request.ts'

const construct = Symbol('construct')
const sendOptions = [...requestOptions, 'descriptors'] as const
const receiveOptions = sendOptions
const maxFrameDescriptors = 16

/** Received descriptors that a channel holds at most: a frame is read while all 16 that it may bring still fit. */
export const maxHeldDescriptors = 256

export interface SendOptions extends RequestOptions {
  /** At most 16. They are duplicated when `send` is called, so they may be closed at once. Numbers are borrowed. */
  descriptors?: readonly (Descriptor | number)[] | undefined
}

export interface ReceiveOptions extends RequestOptions {
  /**
   * False where the peer has no descriptors to send: a frame with some is refused (`ERR_USM_IPC_UNEXPECTED_DESCRIPTORS`)
   * and the channel shut, without one of them becoming this process's. Default true.
   */
  descriptors?: boolean | undefined
}

/** What one `send` of the peer's put in. */
export interface Frame {
  bytes: Uint8Array
  /** Also in the channel's `received` until they are closed; closing the channel closes them. */
  descriptors: Descriptor[]
}

/**
 * One end of a channel: a Unix seqpacket socket. A frame has 1 to 65,536 bytes and up to 16 descriptors, and arrives
 * whole, once and in order. Nothing is read before `receive()` asks for it; 64 sends and 64 receives may be pending.
 * An open channel keeps a process alive only while requests are pending.
 *
 * @example
 * ```ts
 * import { FdChannel } from 'usm-ipc'
 *
 * using listener = FdChannel.listen('/tmp/example.sock')
 * const accepted = listener.accept()
 * using client = await FdChannel.connect('/tmp/example.sock', { timeoutMs: 1000 })
 * using server = await accepted
 * await client.send(new TextEncoder().encode('hello'))
 * const frame = await server.receive({ signal: AbortSignal.timeout(1000) })
 * new TextDecoder().decode(frame.bytes) // 'hello'
 * ```
 */
export class FdChannel {
  readonly #native: NativeChannel
  readonly #received = new Set<Descriptor>()
  readonly #forget = (descriptor: Descriptor): void => {
    this.#received.delete(descriptor)
    this.#native.release(1)
  }
  #peer: PeerCredentials | undefined
  #hangup: Promise<void> | undefined
  #peerExited: Promise<PeerExit> | undefined

  /** @internal */
  constructor(key: symbol, channel: NativeChannel) {
    if (key !== construct) throw typeError('not-constructible', 'use FdChannel.pair(), connect(), listen() or adopt()')
    this.#native = channel
  }

  /** Two connected ends, to give one away: to a worker's or a child's `stdio` by its `fd`. */
  static pair(): [FdChannel, FdChannel] {
    const [one, other] = checked(() => addon().channelPair())
    return [channelFrom(one), channelFrom(other)]
  }

  /** Connects to a listener. While its backlog is full this keeps trying until the deadline. */
  static async connect(path: string, options?: RequestOptions): Promise<FdChannel> {
    checkOptions(options, requestOptions, 'FdChannel.connect')
    if (typeof path !== 'string') throw typeError('invalid-path', 'FdChannel.connect: the path is a string')
    const timeoutMs = deadline(options, 'FdChannel.connect')
    return request(
      options?.signal,
      (done) => addon().channelConnect(path, timeoutMs, done),
      (number) => addon().channelCancel(number),
      channelFrom,
    )
  }

  /**
   * Listens on a path. The socket's file gets `mode` (0o600: this user alone), and no existing file is replaced, but a
   * dead socket with `replace: 'dead'`.
   */
  static listen(path: string, options?: ListenOptions): FdListener<FdChannel> {
    return FdListener.open(path, options, channelFrom)
  }

  /**
   * Takes over a connected seqpacket socket: a number, such as one inherited through `stdio`, or a descriptor, such as
   * one that was received. It stays the caller's on failure.
   */
  static adopt(socket: number | Descriptor): FdChannel {
    if (!(socket instanceof Descriptor)) {
      checkFd(socket)
      return channelFrom(checked(() => addon().channelAdopt(socket, false)))
    }
    const { number } = socket
    const channel = channelFrom(checked(() => addon().channelAdopt(number, true)))
    socket.close()
    return channel
  }

  /**
   * Sends one frame. Bytes and descriptors are copied before this returns. Resolves when the frame is in the peer's
   * socket; on rejection it was not sent.
   */
  async send(bytes: ArrayBufferView | ArrayBufferLike, options?: SendOptions): Promise<void> {
    checkOptions(options, sendOptions, 'FdChannel.send')
    const view = asBytes(bytes, 'FdChannel.send: bytes')
    const timeoutMs = deadline(options, 'FdChannel.send')
    const borrowed: Descriptor[] = []
    try {
      const claims = Array.from(options?.descriptors ?? [], (descriptor) => {
        if (descriptor instanceof Descriptor) return claimOf(descriptor)
        const duplicate = Descriptor.duplicate(descriptor)
        borrowed.push(duplicate)
        return claimOf(duplicate)
      })
      // Not awaited in here: the native call has copied everything when it returns.
      return request<undefined, void>(
        options?.signal,
        (done) => this.#native.send(view, claims, timeoutMs, done),
        (number) => this.#native.cancel(number),
        () => undefined,
      )
    } finally {
      for (const duplicate of borrowed) duplicate.close()
    }
  }

  /**
   * Receives one frame. On rejection by deadline or signal nothing was read; the next `receive()` gets the frame. While
   * the channel holds more than 240 descriptors this rejects, and receives that are pending already wait.
   */
  async receive(options?: ReceiveOptions): Promise<Frame> {
    checkOptions(options, receiveOptions, 'FdChannel.receive')
    const timeoutMs = deadline(options, 'FdChannel.receive')
    const takesDescriptors = options?.descriptors ?? true
    if (typeof takesDescriptors !== 'boolean')
      throw typeError('invalid-options', 'FdChannel.receive: descriptors is a boolean')
    if (takesDescriptors && this.#received.size > maxHeldDescriptors - maxFrameDescriptors) {
      throw new StateError(
        'too-many-held-descriptors',
        `the channel holds ${this.#received.size} received descriptors, and a frame may bring ${maxFrameDescriptors}: close some before receiving more`,
      )
    }
    return request<NativeFrame, Frame>(
      options?.signal,
      (done) => this.#native.receive(timeoutMs, done, takesDescriptors),
      (number) => this.#native.cancel(number),
      (frame) => this.#take(frame),
    )
  }

  /** Closes this end and the received descriptors that are still open. Pending requests fail. Idempotent. */
  close(): void {
    this.#native.close()
    for (const descriptor of this.#received) descriptor.close()
  }

  /**
   * Closes this end, and ends the connection for every process that has a copy of it, such as a child that was forked. What
   * was sent is still received. Idempotent.
   */
  shut(): void {
    this.#native.shut()
    this.close()
  }

  get isClosed(): boolean {
    return this.#native.isClosed
  }

  /**
   * The process at the other end when the connection was made; for a pair, the process that made it. The pid is 0 where
   * that process is in a pid namespace that this one cannot see. `overflow`: an id of its has no number in this user
   * namespace (it shows as 65534), so whose process it is cannot be told.
   */
  get peer(): PeerCredentials {
    return (this.#peer ??= Object.freeze(this.#native.peer))
  }

  /**
   * Resolves when the peer has hung up (frames may still be waiting) or this end is closed. Once asked for, it is a
   * pending request like any other: it keeps the process alive, unless `unref()`.
   */
  get hangup(): Promise<void> {
    if (this.#hangup === undefined) {
      const told = new Promise<void>((resolve) => checked(() => this.#native.onHangup(resolve)))
      this.#hangup = told
      told.catch(() => (this.#hangup = undefined)) // could not be watched: the next one tries again
    }
    return this.#hangup
  }

  /**
   * Resolves with `exited` when the process that made the connection (for a client, the one that called `listen`) has
   * exited, even while a child of its keeps the connection open; with `closed` when this end is closed first; with
   * `unavailable`, at once, where the system does not say which process that is. For a pair that process is the maker of
   * it. It takes a descriptor from when it is first asked for, and is a pending request like `hangup`.
   */
  get peerExited(): Promise<PeerExit> {
    if (this.#peerExited === undefined) {
      const told = new Promise<PeerExit>((resolve) => checked(() => this.#native.onPeerExit((_, how) => resolve(how))))
      this.#peerExited = told
      told.catch(() => (this.#peerExited = undefined)) // could not be watched: the next one tries again
    }
    return this.#peerExited
  }

  /** The received descriptors that are still open. */
  get received(): ReadonlySet<Descriptor> {
    return this.#received
  }

  /** The socket's descriptor, borrowed: for a child's `stdio`, before this end is used or closed. */
  get fd(): number {
    return checked(() => this.#native.fd)
  }

  /** Pending requests keep the process alive (the default). */
  ref(): this {
    this.#native.ref()
    return this
  }

  /** Pending requests do not keep the process alive. */
  unref(): this {
    this.#native.unref()
    return this
  }

  [Symbol.dispose](): void {
    this.close()
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `FdChannel { peer: ${this.peer.pid}, received: ${this.#received.size}, closed: ${this.isClosed} }`
  }

  #take(frame: NativeFrame): Frame {
    const descriptors = frame.descriptors.map((holder) => descriptorFrom(holder.claim, holder, this.#forget))
    if (this.#native.isClosed) {
      // Closed after the frame was read and before it got here: nobody would close them any more.
      for (const descriptor of descriptors) descriptor.close()
    } else {
      for (const descriptor of descriptors) this.#received.add(descriptor)
    }
    return { bytes: frame.bytes, descriptors }
  }
}

function channelFrom(channel: NativeChannel): FdChannel {
  return new FdChannel(construct, channel)
}
