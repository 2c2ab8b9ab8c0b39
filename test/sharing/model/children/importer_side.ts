/** A party's sessions, and what it opened through them. */
import { type MemoryIPCDevice, type Session, connect, ledger } from '../../../../host/index.ts'
import { decode } from '../../../support/child.ts'
import { collectUntil } from '../../../support/gc.ts'
import { secret } from '../keys.ts'
import { expectCollected } from './books.ts'
import { type Content, contentOf } from '../pattern.ts'
import type { Ask, Look, Opened, Reply } from '../protocol.ts'

interface Held {
  session: Session
  revoked: number
  goneAt: string
}

export class ImporterSide {
  readonly #sessions = new Map<number, Held>()
  readonly #slots = new Map<number, MemoryIPCDevice>()
  readonly #views = new Map<number, Uint8Array>()

  async answer(ask: Ask): Promise<Reply | undefined> {
    switch (ask.do) {
      case 'connect': {
        const session = await connect(ask.path, ask.keys === undefined ? {} : { keys: ask.keys.map(secret) })
        const held: Held = { session, revoked: 0, goneAt: '' }
        session.on('revoked', () => held.revoked++)
        session.on('exporterGone', () => (held.goneAt = String(process.hrtime.bigint())))
        this.#sessions.set(ask.session, held)
        return {}
      }
      case 'list': {
        const all = await this.#session(ask.session).list()
        return { names: all.map(({ name, nbytes, leases, allocationId }) => ({ name, nbytes, leases, allocationId })) }
      }
      case 'open':
        return this.#keep(ask.slot, await this.#session(ask.session).open(ask.name, ask.timeoutMs === undefined ? undefined : { timeoutMs: ask.timeoutMs }))
      case 'openKept':
        return this.#keep(ask.slot, await this.#session(ask.session).open(decode(ask.bytes)))
      case 'openAll': {
        const all = await this.#session(ask.session).openAll()
        return { opened: [...all].map(([name, memory]) => this.#keep(ask.slots[name]!, memory).opened![0]!) }
      }
      case 'closeSlot':
        this.#slots.get(ask.slot)!.close()
        this.#slots.delete(ask.slot)
        return {}
      case 'abandonSlot':
        return this.#collect('mappings', () => this.#slots.delete(ask.slot))
      case 'view':
        this.#views.set(ask.view, this.#slots.get(ask.slot)!.view())
        return {}
      case 'dropView':
        return this.#collect('views', () => this.#views.delete(ask.view))
      case 'closeSession': {
        const { session } = this.#sessions.get(ask.session)!
        await session.close()
        return {}
      }
      default:
        return undefined
    }
  }

  look(): Pick<Look, 'sessions' | 'slots' | 'views'> {
    for (const [slot, memory] of this.#slots) if (memory.isClosed) this.#slots.delete(slot) // with its session
    return {
      sessions: [...this.#sessions].map(([number, { session, revoked, goneAt }]) => ({
        session: number, isClosed: session.isClosed, aborted: reason(session.signal), leases: session.leases().map(({ id }) => id), revoked, goneAt,
      })),
      slots: [...this.#slots].map(([slot, memory]) => (
        { slot, state: memory.lease!.state, aborted: reason(memory.lease!.signal), content: read(memory) }
      )),
      views: [...this.#views].map(([view, bytes]) => ({ view, content: contentOf(bytes) })),
    }
  }

  async reset(): Promise<void> {
    for (const { session } of this.#sessions.values()) await session.close()
    // Those of sessions whose exporter is gone are closed with them, too.
    for (const memory of this.#slots.values()) memory.close()
    this.#sessions.clear()
    this.#slots.clear()
    expectCollected(this.#views.size)
    this.#views.clear()
  }

  // Drops the last reference and waits for the collector, as nobody closes it.
  async #collect(what: 'mappings' | 'views', drop: () => void): Promise<Reply> {
    const before = ledger()[what]
    expectCollected(1)
    drop()
    return (await collectUntil(() => ledger()[what] < before)) ? {} : { error: 'NOT_COLLECTED' }
  }

  #keep(slot: number, memory: MemoryIPCDevice): Reply {
    this.#slots.set(slot, memory)
    const { id, allocationId } = memory.lease!
    const opened: Opened = { slot, nbytes: memory.nbytes, allocationId, lease: id }
    return { opened: [opened] }
  }

  #session(number: number): Session {
    return this.#sessions.get(number)!.session
  }
}

function read(memory: MemoryIPCDevice): Content {
  const bytes = new Uint8Array(memory.nbytes)
  memory.copyTo(bytes)
  return contentOf(bytes)
}

function reason(signal: AbortSignal): string {
  return signal.aborted ? (signal.reason as { code: string }).code.replace('ERR_USM_IPC_', '') : ''
}
