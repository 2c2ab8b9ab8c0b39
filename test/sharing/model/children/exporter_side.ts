/** A party's exporter and its memories. */
import { type Exporter, IPCMemoryHandle, MemoryUSMDevice, listen } from '../../../../host/index.ts'
import { encode } from '../../../support/child.ts'
import { secret } from '../keys.ts'
import { contentOf, patternOf } from '../pattern.ts'
import type { Ask, Look, Reply } from '../protocol.ts'
import { ipcOption } from '../../../support/ipc.ts'

export class ExporterSide {
  readonly #selector: string
  readonly #memories = new Map<number, MemoryUSMDevice>()
  #exporter: Exporter | undefined
  #ended: Look['ended'] = []
  #released: Look['released'] = []

  constructor(selector: string) {
    this.#selector = selector
  }

  async answer(ask: Ask): Promise<Reply | undefined> {
    switch (ask.do) {
      case 'listen': {
        const { path, key } = ask
        this.#exporter = await listen({ path, ...(key === undefined ? {} : { key: secret(key) }) })
        this.#exporter.on('release', ({ id }) => this.#released.push([id, String(process.hrtime.bigint())]))
        return {}
      }
      case 'allocate': {
        const memory = new MemoryUSMDevice(ask.nbytes, { device: this.#selector, ...ipcOption() })
        memory.copyFrom(patternOf(ask.seed, ask.nbytes))
        this.#memories.set(ask.memory, memory)
        return {}
      }
      case 'publish': {
        const { name, memory, offset, nbytes, ttl } = ask
        const array = { code: 1, bits: 8, lanes: 1, shape: [nbytes] }
        this.#exporter!.publish(name, this.#memory(memory), { offset, nbytes, array, metadata: { name }, ...(ttl === undefined ? {} : { ttl }) })
        return { allocationId: this.#exporter!.publications().find((p) => p.name === name)!.allocationId }
      }
      case 'unpublish':
        return this.#unpublish(ask)
      case 'rewrite':
        this.#memory(ask.memory).copyFrom(patternOf(ask.seed, this.#memory(ask.memory).nbytes))
        return {}
      case 'closeMemory':
        this.#memory(ask.memory).close()
        this.#memories.delete(ask.memory)
        return {}
      case 'keep': {
        using handle = new IPCMemoryHandle(this.#memory(ask.memory), ask.key === undefined ? {} : { key: secret(ask.key) })
        return { bytes: encode(handle.toBytes()) }
      }
      case 'rotateKey':
        this.#exporter!.rotateKey(secret(ask.key))
        return {}
      case 'closeExporter':
        await this.#exporter!.close({ graceMs: ask.graceMs })
        this.#exporter = undefined
        return {}
      default:
        return undefined
    }
  }

  look(): Pick<Look, 'exporter' | 'ended' | 'released' | 'memories'> {
    const [ended, released] = [this.#ended, this.#released]
    this.#ended = []
    this.#released = []
    const exporter = this.#exporter
    return {
      ...(exporter === undefined || exporter.isClosed ? {} : {
        exporter: {
          names: exporter.publications().map(({ name, nbytes, allocationId, leases }) => ({ name, nbytes, allocationId, leases })),
          leases: exporter.leases().map(({ id, allocationId, peer: { pid } }) => ({ id, allocationId, pid })),
          peers: exporter.peers.map(({ pid }) => pid),
        },
      }),
      ended, released,
      memories: [...this.#memories].map(([memory, { nbytes }]) => {
        const bytes = new Uint8Array(nbytes)
        this.#memory(memory).copyTo(bytes)
        return { memory, content: contentOf(bytes) }
      }),
    }
  }

  async reset(): Promise<void> {
    await this.#exporter?.close({ graceMs: 0 })
    this.#exporter = undefined
    for (const memory of this.#memories.values()) memory.close()
    this.#memories.clear()
    this.#ended = []
    this.#released = []
  }

  // Without a wait the answer says whether the name is withdrawn; how it ends is told by a later look.
  async #unpublish({ name, revoke, graceMs, ticket, wait }: Ask & { do: 'unpublish' }): Promise<Reply> {
    const ended = this.#exporter!.unpublish(name, revoke ? { revoke, graceMs } : {})
    const told = ended.then(
      () => void this.#ended.push([ticket, 'ok']),
      (error: { code?: string }) => {
        if (error.code === 'ERR_USM_IPC_NO_SUCH_NAME') throw error
        this.#ended.push([ticket, error.code ?? String(error)])
      },
    )
    await (wait ? told : Promise.race([told, new Promise((resolve) => setImmediate(resolve))]))
    return {}
  }

  #memory(number: number): MemoryUSMDevice {
    return this.#memories.get(number)!
  }
}
