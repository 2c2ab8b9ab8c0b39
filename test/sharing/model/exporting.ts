/** What exporters do. */
import { kind, outcome, pick } from './command.ts'
import type { Exporter, Memory, Model, Publication } from './model.ts'
import type { Real } from './real.ts'

export const NAMES = ['a', 'b', 'layer/1', 'layer/2', 'ü']
const SIZES = [4096, 8192, 65_536]
const KEYS = 3

export const listening = (model: Model): Exporter[] => model.exporters.filter(({ isListening }) => isListening)
const openMemories = (exporter: Exporter): Memory[] => [...exporter.memories.values()].filter(({ isOpen }) => isOpen)
const withOpenMemory = (model: Model): Memory[] => listening(model).flatMap(openMemories)

/** Names that are served for certain. */
export function servedNames(exporter: Exporter): Publication[] {
  return [...exporter.names.values()].filter(({ expires }) => expires === undefined)
}

/** Of exports that no name leaves at a moment of its own. */
export function steadyNames(exporter: Exporter): Publication[] {
  return servedNames(exporter).filter((p) => [...p.export.names.values()].every(({ expires }) => expires === undefined))
}

export async function listen(exporter: Exporter, key: number | undefined, real: Real): Promise<void> {
  const party = await real.start('exporters', exporter.number)
  const path = real.world.path(exporter.number)
  outcome(await party.ask({ do: 'listen', path, ...(key === undefined ? {} : { key }) }), 'ok')
  exporter.isListening = true
  exporter.leftSocket = false
  exporter.key = key
}

/** Memory that nobody has published. */
export async function allocate(exporter: Exporter, nbytes: number, model: Model, real: Real): Promise<Memory> {
  const [number, seed] = [model.fresh(), model.fresh()]
  outcome(await real.exporter(exporter).ask({ do: 'allocate', memory: number, nbytes, seed }), 'ok')
  return model.allocated(exporter, number, nbytes, seed)
}

export async function publishNew(exporter: Exporter, name: string, model: Model, real: Real): Promise<void> {
  const nbytes = SIZES[0]!
  const memory = await allocate(exporter, nbytes, model, real)
  const reply = await real.exporter(exporter).ask({ do: 'publish', name, memory: memory.number, offset: 0, nbytes })
  outcome(reply, 'ok')
  memory.allocationId = reply.allocationId!
  model.published(name, memory, 0, nbytes, undefined)
}

export const startExporter = kind({
  name: 'startExporter', weight: 6,
  choose(model, [which, key]) {
    const exporter = pick(model.exporters.filter((e) => !e.isListening), which!)
    return exporter && { exporter, key: key! % 2 === 0 ? undefined : 1 + (key! % KEYS) }
  },
  describe: ({ exporter, key }) => `${exporter.number}, key ${key}`,
  async act({ exporter, key }, model, real) {
    await listen(exporter, key, real)
    await real.settle(model)
  },
})

export const killExporter = kind({
  name: 'killExporter', weight: 2,
  choose(model, [which, forks]) {
    const exporter = pick(listening(model), which!)
    return exporter && { exporter, forks: forks! % 2 === 0 }
  },
  describe: ({ exporter, forks }) => `${exporter.number}${forks ? ', which has forked' : ''}`,
  async act({ exporter, forks }, model, real) {
    if (forks) await real.world.fork(real.exporter(exporter))
    const death = await real.kill('exporters', exporter.number, { gone: sessionsOf(exporter, model) })
    model.exporterEnded(exporter, true)
    await real.settle(model, [death])
  },
})

export function sessionsOf(exporter: Exporter, model: Model): string[] {
  return model.liveSessions().filter((s) => s.exporter === exporter).map((s) => `${s.importer.number}:${s.number}`)
}

export const closeExporter = kind({
  name: 'closeExporter', weight: 1,
  choose(model, [which, grace]) {
    const exporter = pick(listening(model), which!)
    return exporter && { exporter, graceMs: pick([0, 5, 20], grace!)! }
  },
  describe: ({ exporter, graceMs }) => `${exporter.number}, grace ${graceMs} ms`,
  async act({ exporter, graceMs }, model, real) {
    outcome(await real.exporter(exporter).ask({ do: 'closeExporter', graceMs }), 'ok')
    model.exporterEnded(exporter, false)
    await real.settle(model)
  },
})

export const publish = kind({
  name: 'publish', weight: 10,
  choose(model, [which, name, source, range, ttl]) {
    const exporter = pick(listening(model), which!)
    if (exporter === undefined) return undefined
    const free = pick(NAMES.filter((n) => !exporter.names.has(n)), name!)
    if (free === undefined) return undefined
    const known = source! % 2 === 0 ? undefined : pick(openMemories(exporter), source!)
    const nbytes = known?.nbytes ?? pick(SIZES, source!)!
    const offset = range! % 2 === 0 ? 0 : 256 * (range! % (nbytes / 512))
    return { exporter, name: free, known, size: nbytes, offset, nbytes: range! % 2 === 0 ? nbytes : nbytes / 2, ttl: ttl! % 6 === 0 ? 20 + (ttl! % 40) : undefined }
  },
  describe: ({ exporter, name, known, offset, nbytes, ttl }) => (
    `${exporter.number}, '${name}', ${known === undefined ? 'new memory' : `memory ${known.number}`}, ${offset}+${nbytes}${ttl === undefined ? '' : `, ttl ${ttl} ms`}`
  ),
  async act({ exporter, name, known, size, offset, nbytes, ttl }, model, real) {
    const memory = known ?? (await allocate(exporter, size, model, real))
    const before = Date.now()
    const reply = await real.exporter(exporter).ask({ do: 'publish', name, memory: memory.number, offset, nbytes, ...(ttl === undefined ? {} : { ttl }) })
    outcome(reply, 'ok')
    memory.allocationId = reply.allocationId!
    model.published(name, memory, offset, nbytes, ttl === undefined ? undefined : before + ttl)
    await real.settle(model)
  },
})

export const unpublish = kind({
  name: 'unpublish', weight: 9,
  choose(model, [which, name, how, grace]) {
    const publication = pick(listening(model).flatMap(steadyNames), which! + name!)
    return publication && { publication, revoke: how! % 2 === 0, graceMs: pick([0, 2, 15], grace!)! }
  },
  describe: ({ publication, revoke, graceMs }) => `'${publication.name}' of ${publication.export.memory.exporter.number}${revoke ? `, revoke, grace ${graceMs} ms` : ''}`,
  async act({ publication, revoke, graceMs }, model, real) {
    const { export: shared, name } = publication
    const number = model.fresh()
    outcome(await real.exporter(shared.memory.exporter).ask({ do: 'unpublish', name, revoke, graceMs, ticket: number, wait: revoke }), 'ok')
    const ticket = model.unpublished(publication, number, revoke)
    if (revoke) model.graceIsOver(shared, ticket)
    await real.settle(model)
  },
})

/** Waits until the time of what has a time is over. */
export const expire = kind({
  name: 'expire', weight: 3,
  choose: (model) => (listening(model).some((e) => e.names.size > servedNames(e).length) ? {} : undefined),
  describe: () => '',
  async act(_, model, real) {
    const expiring = listening(model).flatMap((e) => [...e.names.values()].filter((p) => p.expires !== undefined))
    await new Promise((resolve) => setTimeout(resolve, Math.max(...expiring.map((p) => p.expires! - Date.now())) + 10))
    await real.settle(model)
    for (const publication of expiring) {
      for (let i = 0; i < 200 && publication.export.names.has(publication.name); i++) await real.settle(model)
      if (publication.export.names.has(publication.name)) throw new Error(`'${publication.name}' is served after its time`)
    }
  },
})

/** The names and the leases keep what was published. */
export const closeMemory = kind({
  name: 'closeMemory', weight: 4,
  choose: (model, [which]) => pick(withOpenMemory(model), which!),
  describe: (memory: Memory) => `${memory.number}`,
  async act(memory, model, real) {
    outcome(await real.exporter(memory.exporter).ask({ do: 'closeMemory', memory: memory.number }), 'ok')
    model.memoryClosed(memory)
    await real.settle(model)
  },
})

/** The exporter's own again: it writes what it likes. */
export const rewrite = kind({
  name: 'rewrite', weight: 4,
  choose: (model, [which]) => pick(withOpenMemory(model).filter(({ exports }) => exports.size === 0), which!),
  describe: (memory: Memory) => `${memory.number}`,
  async act(memory, model, real) {
    memory.seed = model.fresh()
    outcome(await real.exporter(memory.exporter).ask({ do: 'rewrite', memory: memory.number, seed: memory.seed }), 'ok')
    await real.settle(model)
  },
})

export const keep = kind({
  name: 'keep', weight: 3,
  choose(model, [which, key]) {
    const memory = pick(withOpenMemory(model), which!)
    return memory && { memory, key: [undefined, memory.exporter.key, 1 + (key! % KEYS)][key! % 3] }
  },
  describe: ({ memory, key }) => `memory ${memory.number}, key ${key}`,
  async act({ memory, key }, model, real) {
    const reply = await real.exporter(memory.exporter).ask({ do: 'keep', memory: memory.number, ...(key === undefined ? {} : { key }) })
    outcome(reply, 'ok')
    model.kept.push({ bytes: reply.bytes!, memory, key })
    await real.settle(model)
  },
})

export const rotateKey = kind({
  name: 'rotateKey', weight: 2,
  choose(model, [which, key]) {
    const exporter = pick(listening(model), which!)
    return exporter && { exporter, key: 1 + (key! % KEYS) }
  },
  describe: ({ exporter, key }) => `${exporter.number}, key ${key}`,
  async act({ exporter, key }, model, real) {
    outcome(await real.exporter(exporter).ask({ do: 'rotateKey', key }), 'ok')
    exporter.key = key
    await real.settle(model)
  },
})

export const exporting = [startExporter, killExporter, closeExporter, publish, unpublish, expire, closeMemory, rewrite, keep, rotateKey]
