/** An exporter in a process of its own that hostile importers are set upon, and a session that must not notice. */
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { FdChannel, connect, type Session } from '../../../host/index.ts'
import type { Limits } from '../../../host/sharing/limits.ts'
import { Party, openFolder, until } from '../trust/support.ts'
import type { Held } from '../trust/protocol.ts'

export const NBYTES = 65536
const deadline = { timeoutMs: 10_000 }

export class Besieged implements AsyncDisposable {
  readonly path: string
  readonly exporter: Party
  readonly #session: Session
  readonly #before: Held

  private constructor(path: string, exporter: Party, session: Session, before: Held) {
    this.path = path
    this.exporter = exporter
    this.#session = session
    this.#before = before
  }

  static async start(t: ExecutionContext, limits: Partial<Limits> = {}): Promise<Besieged> {
    const path = join(openFolder(t), 'socket')
    const exporter = new Party({ timeoutMs: 120_000 })
    try {
      await exporter.do({ do: 'listen', path, limits })
      await exporter.do({ do: 'publish', name: 'weights', nbytes: NBYTES, fill: 7 })
      const session = await connect(path)
      const besieged = new Besieged(path, exporter, session, undefined as never)
      await besieged.served(t)
      return new Besieged(path, exporter, session, await besieged.#settled(1))
    } catch (error) {
      await exporter.kill()
      throw error
    }
  }

  /** The well-behaved session opens, reads and closes. */
  async served(t: ExecutionContext): Promise<void> {
    t.is((await this.#session.list()).length, 1)
    const memory = await this.#session.open('weights')
    const bytes = new Uint8Array(NBYTES)
    memory.copyTo(bytes)
    memory.close()
    t.true(bytes.every((byte) => byte === 7))
  }

  /** Why connections were ended since this was asked last, when there are so many of them. */
  async dropped(count: number): Promise<string[]> {
    const codes: string[] = []
    await until(async () => {
      for (const [code, times] of Object.entries((await this.exporter.do({ do: 'dropped' })).dropped!)) codes.push(...Array<string>(times).fill(code))
      return codes.length >= count
    })
    return codes
  }

  /** Nothing of the hostile ones is left: descriptors, mappings, leases, claims, connections. */
  async flat(t: ExecutionContext): Promise<void> {
    await this.served(t)
    const held = await this.#settled(this.#before.peers)
    t.deepEqual(held, this.#before)
  }

  async #settled(peers: number): Promise<Held> {
    await until(async () => {
      const held = await this.exporter.held()
      return held.peers === peers && held.leases === 0 && held.descriptors <= (this.#before?.descriptors ?? Infinity)
    })
    return this.exporter.held()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.close()
    await this.exporter[Symbol.asyncDispose]()
  }
}

/** What an exporter says to these frames until it ends the connection: the frames that came. */
export async function untilDropped(channel: FdChannel): Promise<Uint8Array[]> {
  const frames: Uint8Array[] = []
  for (;;) {
    try {
      frames.push((await channel.receive(deadline)).bytes)
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_USM_IPC_PEER_GONE') throw error
      return frames
    }
  }
}

/** Sends what the exporter may already be refusing to read. */
export async function push(channel: FdChannel, frame: Uint8Array, descriptors?: readonly number[]): Promise<boolean> {
  try {
    await channel.send(frame, { ...deadline, descriptors })
    return true
  } catch (error) {
    const { code } = error as { code?: string }
    if (code !== 'ERR_USM_IPC_PEER_GONE' && code !== 'ERR_USM_IPC_CLOSED') throw error
    return false
  }
}
