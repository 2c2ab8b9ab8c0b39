/** An exporter that answers what a test tells it to, over a real socket, in front of real memory. */
import { join } from 'node:path'
import { encode } from '@msgpack/msgpack'
import type { ExecutionContext } from 'ava'
import { FdChannel, IPCMemoryHandle, MemoryUSMDevice } from '../../../host/index.ts'
import { HEADER } from '../../../host/core/index.ts'
import { fromUuid } from '../../../host/core/bytes.ts'
import { decodeRequest, type Entry, type Hello, type List, type Open, type Release } from '../../../host/sharing/protocol.ts'
import { asForeign } from '../../support/forge.ts'
import { openFolder } from '../trust/support.ts'

export const NBYTES = 65536
type Send = (message: object | Uint8Array, descriptors?: IPCMemoryHandle['descriptors'] | number[]) => Promise<void>

/** What to do on a request; where it is left out, an honest answer. */
export interface Answers {
  hello?: (request: Hello, send: Send, channel: FdChannel) => unknown
  list?: (request: List, send: Send, channel: FdChannel) => unknown
  open?: (request: Open, send: Send, channel: FdChannel) => unknown
  release?: (request: Release, send: Send, channel: FdChannel) => unknown
}

export class FakeExporter implements AsyncDisposable {
  readonly path: string
  answers: Answers = {}
  /** Requests that came. */
  readonly asked: string[] = []
  readonly memory = new MemoryUSMDevice(NBYTES, { device: 'host' })
  readonly handle = new IPCMemoryHandle(this.memory)
  /** Under an id that is not this process's own, so that it has to be mapped. */
  readonly envelope: Uint8Array
  readonly #listener
  readonly #channels = new Set<FdChannel>()
  #lastLease = 0

  constructor(t: ExecutionContext) {
    this.path = join(openFolder(t), 'socket')
    this.memory.fill(7)
    this.envelope = asForeign(this.handle.toBytes())
    this.#listener = FdChannel.listen(this.path)
    void this.#accept()
  }

  get connections(): number {
    return this.#channels.size
  }

  get allocation(): Uint8Array {
    return this.envelope.slice(HEADER.allocation_random, HEADER.allocation_random + 16)
  }

  entry(changes: Partial<Entry> | Record<string, unknown> = {}): Entry {
    return {
      name: 'weights', export: 1, revision: 1, allocation: this.allocation, backend: 'host', device: fromUuid(this.memory.device.uuid)!,
      offset: 0, nbytes: NBYTES, leases: 0, ...changes,
    } as Entry
  }

  /** An honest answer to an open, with changes. */
  opened(id: number, changes: object = {}): Record<string, unknown> {
    return { t: 'opened', id, lease: ++this.#lastLease, entry: this.entry(), envelope: this.envelope, ...changes }
  }

  async #accept(): Promise<void> {
    for await (const channel of this.#listener) {
      this.#channels.add(channel)
      void this.#serve(channel).finally(() => {
        channel.close()
        this.#channels.delete(channel)
      })
    }
  }

  async #serve(channel: FdChannel): Promise<void> {
    const send: Send = (message, descriptors) =>
      channel.send(message instanceof Uint8Array ? message : encode(message, { ignoreUndefined: true, useBigInt64: true }), { timeoutMs: 10_000, descriptors }).catch(() => {})
    try {
      for (;;) {
        const request = decodeRequest((await channel.receive()).bytes)
        this.asked.push(request.t)
        switch (request.t) {
          case 'hello':
            await (this.answers.hello?.(request, send, channel) ?? send({ t: 'welcome', version: 1 }))
            break
          case 'list':
            await (this.answers.list?.(request, send, channel) ?? send({ t: 'listed', id: request.id, entries: [this.entry()], more: false }))
            break
          case 'open':
            await (this.answers.open?.(request, send, channel) ?? send(this.opened(request.id), this.handle.descriptors))
            break
          case 'release':
            await this.answers.release?.(request, send, channel)
        }
      }
    } catch {
      // The importer has gone.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close()
    for (const channel of this.#channels) channel.close()
    this.handle.close()
    this.memory.close()
  }
}
