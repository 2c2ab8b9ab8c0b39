/** The listening side of channels. */
import { resolve } from 'node:path'
import { addon, type NativeChannel, type NativeListener } from '../addon.ts'
import { StateError, checked, rangeError, typeError } from '../errors.ts'
import { checkOptions } from '../options.ts'
import { deadline, request, requestOptions, type RequestOptions } from './request.ts'

const backlog = 128

export interface ListenOptions {
  /** Who may connect, as a file mode: writing is what counts. Default 0o600. */
  mode?: number | undefined
  /**
   * `'dead'`: where the path is a socket of this user's that nobody answers on, because the process that listened has
   * exited, the new one takes its place. One process at a time does this in a directory; another waits, at most two
   * seconds, and this thread with it. Everything else that exists is refused, as without this option:
   * `ERR_USM_IPC_ADDRESS_IN_USE` where a listener is running, `ERR_USM_IPC_NOT_A_SOCKET`,
   * `ERR_USM_IPC_FOREIGN_SOCKET`.
   */
  replace?: 'dead' | undefined
}

/**
 * Accepts connections on a path, which `close()` removes. Made by `FdChannel.listen`.
 *
 * @example
 * ```ts
 * import { FdChannel } from 'usm-ipc'
 *
 * using listener = FdChannel.listen('/tmp/example.sock', { mode: 0o660 })
 * const client = await FdChannel.connect('/tmp/example.sock')
 * for await (const channel of listener) {
 *   channel.peer.uid // whose process it is
 *   channel.close()
 *   break
 * }
 * client.close()
 * ```
 */
export class FdListener<Channel> {
  /** The absolute path. */
  readonly path: string
  readonly #native: NativeListener
  readonly #wrap: (channel: NativeChannel) => Channel

  private constructor(path: string, listener: NativeListener, wrap: (channel: NativeChannel) => Channel) {
    this.path = path
    this.#native = listener
    this.#wrap = wrap
  }

  /** @internal */
  static open<Channel>(
    path: string,
    options: ListenOptions | undefined,
    wrap: (channel: NativeChannel) => Channel,
  ): FdListener<Channel> {
    checkOptions(options, ['mode', 'replace'], 'FdChannel.listen')
    if (typeof path !== 'string' || path === '')
      throw typeError('invalid-path', 'FdChannel.listen: the path is a string that is not empty')
    const mode = options?.mode ?? 0o600
    if (!Number.isInteger(mode) || mode < 0 || mode > 0o777) {
      throw rangeError('invalid-mode', 'FdChannel.listen: the mode is a number between 0 and 0o777')
    }
    const replace = options?.replace
    if (replace !== undefined && replace !== 'dead')
      throw typeError('invalid-replace', "FdChannel.listen: replace is 'dead', or left out")
    // The name is removed later, whatever the current directory is then.
    const absolute = resolve(path)
    return new FdListener(
      absolute,
      checked(() => addon().channelListen(absolute, mode, backlog, replace === 'dead')),
      wrap,
    )
  }

  /** The next connection. */
  async accept(options?: RequestOptions): Promise<Channel> {
    checkOptions(options, requestOptions, 'FdListener.accept')
    const timeoutMs = deadline(options, 'FdListener.accept')
    return request(
      options?.signal,
      (done) => this.#native.accept(timeoutMs, done),
      (number) => this.#native.cancel(number),
      this.#wrap,
    )
  }

  /** Stops listening and removes the path, if it is still this listener's. Pending accepts fail. Idempotent. */
  close(): void {
    this.#native.close()
  }

  get isClosed(): boolean {
    return this.#native.isClosed
  }

  /** Pending accepts keep the process alive (the default). */
  ref(): this {
    this.#native.ref()
    return this
  }

  /** Pending accepts do not keep the process alive. */
  unref(): this {
    this.#native.unref()
    return this
  }

  [Symbol.dispose](): void {
    this.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
  }

  /** Every connection until the listener is closed. Leaving the loop does not close it. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Channel, void, void> {
    while (!this.isClosed) {
      let channel: Channel
      try {
        channel = await this.accept()
      } catch (error) {
        if (error instanceof StateError && this.isClosed) return
        throw error
      }
      yield channel
    }
  }
}
