import { createHash } from 'node:crypto'
import { Argument, type Command } from 'commander'
import { StateError } from '../errors.ts'
import type { MemoryIPCDevice } from '../memory.ts'
import { fromMetadata } from '../safetensors/file_metadata.ts'
import { fileHeader, writeMemory } from '../safetensors/save.ts'
import type { Listing } from '../sharing/entries.ts'
import type { Session } from '../sharing/session.ts'
import { addConnectOptions, connectTo, socketArgument, type ConnectingOptions } from './connect_options.ts'
import { listed, listingTable, totalBytes, type ListedName } from './listing.ts'
import { UsageError, dim, printJson, size } from './output.ts'
import { openSink } from './sink.ts'
import { untilSignal } from './until.ts'

interface Options extends ConnectingOptions {
  device?: string
  out?: string
  prefix?: string
  digest?: boolean
  hold?: boolean
  json?: boolean
}

export function addAttach(program: Command): void {
  addConnectOptions(program
    .command('attach')
    .description("Open what an exporter shares, without a copy: say what it is and how long it took, or write its bytes to a file.")
    .addArgument(socketArgument())
    .addArgument(new Argument('[name]', 'one name; all of them where it is left out'))
    .option('--device <selector>', "this process's device to open it on (default: the one that it lies on)")
    .option('--out <file>', 'write the bytes of NAME, or all names as a safetensors file; - is standard output')
    .option('--prefix <text>', 'only names that begin with it')
    .option('--digest', 'read all bytes, and print their SHA-256')
    .option('--hold', 'stay attached until Ctrl-C, or until the exporter revokes it or is gone')
    .option('--json', 'print JSON'))
    .addHelpText('after', `
Examples:
  $ usm-ipc attach model.sock --digest
  $ usm-ipc attach model.sock encoder.weight --out weight.bin
  $ usm-ipc attach model.sock --out copy.safetensors
  $ usm-ipc attach model.sock encoder.weight --out - | sha256sum

Exit code: 0 it could be opened, 1 it could not, or the exporter was gone while it was held, 2 wrong usage.`)
    .action(attach)
}

interface Attached {
  /** In the order of their bytes. */
  listings: Listing[]
  memories: Map<string, MemoryIPCDevice>
  /** Milliseconds from the request until all could be used. */
  milliseconds: number
}

async function attach(path: string, name: string | undefined, options: Options): Promise<void> {
  const { out, json } = options
  if (name !== undefined && options.prefix !== undefined) throw new UsageError('a name and --prefix exclude each other')
  if (out !== undefined && options.digest) throw new UsageError('--out and --digest exclude each other')
  if (out === '-' && json) throw new UsageError('--out - and --json both want standard output')
  await using session = await connectTo(path, options)
  const attached = await open(session, name, options)
  const names = attached.listings.map(listed)
  // Before anything is printed: who reads that it is attached may end the exporter.
  const end = options.hold ? hold(session) : undefined
  if (out !== undefined) {
    await write(attached, out, name !== undefined)
    if (out !== '-' && !json) console.log(`wrote ${names.length} ${names.length === 1 ? 'name' : 'names'}, ${size(totalBytes(names))}, to ${out}`)
  }
  if (json) printJson(report(session, attached, names, options))
  else if (out === undefined) print(session, attached, names, options)
  await end
}

async function open(session: Session, name: string | undefined, { device, prefix }: Options): Promise<Attached> {
  const where = device === undefined ? {} : { device }
  const wanted = name ?? prefix
  const all = await session.list(wanted === undefined ? {} : { prefix: wanted })
  const start = performance.now()
  const memories = name === undefined
    ? await session.openAll({ ...where, ...(prefix === undefined ? {} : { prefix }) })
    : new Map([[name, await session.open(name, where)]])
  const milliseconds = performance.now() - start
  const listings = all.filter((l) => memories.has(l.name)).sort((a, b) => order(a.allocationId, b.allocationId) || a.offset - b.offset || order(a.name, b.name))
  if (listings.length === 0) throw new StateError('nothing-published', `nothing${prefix === undefined ? '' : ' of that prefix'} is published at ${session.path}`)
  return { listings, memories, milliseconds }
}

const order = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

async function write({ listings, memories }: Attached, out: string, isOne: boolean): Promise<void> {
  // What cannot be written as a file of tensors is refused before the file is there.
  const header = isOne ? undefined : fileHeader(listings, fromMetadata(listings.find((l) => l.metadata?.['safetensors'] !== undefined)?.metadata))
  const sink = await openSink(out)
  try {
    if (header !== undefined) await sink.write(header)
    for (const { name } of listings) await writeMemory(memories.get(name)!, sink.write)
    await sink.end()
  } catch (error) {
    await sink.discard()
    throw error
  }
}

function digest(memory: MemoryIPCDevice): string {
  const hash = createHash('sha256')
  const buffer = new Uint8Array(Math.min(8 << 20, memory.nbytes))
  for (let at = 0; at < memory.nbytes; at += buffer.length) {
    const piece = buffer.subarray(0, Math.min(buffer.length, memory.nbytes - at))
    memory.copyTo(piece, at)
    hash.update(piece)
  }
  return hash.digest('hex')
}

interface Report {
  names: (ListedName & { sha256?: string })[]
  milliseconds: number
  leases: number
  readOnly: boolean
}

function report(session: Session, { memories, milliseconds }: Attached, names: ListedName[], options: Options): Report {
  return {
    names: names.map((n) => ({ ...n, ...(options.digest ? { sha256: digest(memories.get(n.name)!) } : {}) })),
    milliseconds, leases: session.leases().length, readOnly: [...memories.values()].every((m) => m.readOnly),
  }
}

function print(session: Session, attached: Attached, names: ListedName[], options: Options): void {
  const { memories, milliseconds } = attached
  console.log(listingTable(names, options.digest ? [{ title: 'SHA-256', of: (n) => digest(memories.get(n.name)!) }] : []))
  const leases = session.leases().length
  console.log(dim(`attached ${size(totalBytes(names))} in ${milliseconds.toFixed(2)} ms: ${leases} ${leases === 1 ? 'lease' : 'leases'}`))
}

/** Until the user, or the exporter, ends it. Closing is what the exporter waits for. */
async function hold(session: Session): Promise<void> {
  const ended = untilSignal()
  try {
    await new Promise<void>((resolve, reject) => {
      void ended.signal.then(() => resolve())
      session.once('exporterGone', reject)
      session.once('revoked', () => {
        console.error('usm-ipc: the exporter has revoked what was attached: detached')
        resolve()
      })
    })
  } finally {
    ended.cancel()
  }
}
