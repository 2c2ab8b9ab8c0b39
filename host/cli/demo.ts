import { spawn, type ChildProcess } from 'node:child_process'
import { open, stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { ledger } from '../books.ts'
import { inspect } from '../core/index.ts'
import { selectDevice } from '../device.ts'
import { IPCMemoryHandle } from '../handle.ts'
import { MemoryUSMDevice } from '../memory.ts'
import { FdChannel } from '../sharing/fd_channel.ts'
import { runImporter, sha256 } from './demo_importer.ts'
import { receiveJson, sendJson, type DemoDone, type DemoOpened, type DemoWritten } from './demo_protocol.ts'
import { DriverError } from '../errors.ts'
import { demoEverywhere } from './demo_everywhere.ts'
import { UsageError, bold, dim, green, printJson, size } from './output.ts'
import { runSelf } from './run_self.ts'
import { isSoftwareAsked, softwareListing } from './software.ts'

const DEFAULT_FILE = fileURLToPath(new URL('../../LICENSE', import.meta.url))
const MARK = 'written by the importer'

interface Options {
  device?: string
  json?: boolean
}

export interface Result {
  ok: boolean
  file: string
  nbytes: number
  device: string
  handle: { bytes: number; vendorBytes: number; verdict: string }
  exporter: { pid: number; sha256: string; loadMs: number; exportMs: number }
  importer: DemoOpened
  writeSeen: boolean
  books: { exporter: { ledger: number; registry: number }; importer: { ledger: number; registry: number } }
}

export function addDemo(program: Command): void {
  program
    .command('demo')
    .argument('[file]', 'whose bytes are shared', DEFAULT_FILE)
    .description(
      "Share a file's bytes with a second process: one copy in memory, every handle checked, books closed. Without --device on " +
        'every backend that this machine has; the software Level Zero device is always among them.',
    )
    .option('--device <selector>', 'where the memory is')
    .option('--json', 'print JSON')
    .action(async (file: string, { device, json }: Options) => {
      const say = json ? () => {} : (line: string) => console.log(line)
      const result = device === undefined ? await demoEverywhere(file, say, json === true) : await demoOn(device, file, say, json === true)
      if (result === undefined) return
      if (json) printJson(result)
      process.exitCode = result.ok ? 0 : 1
    })
  program.command('demo-importer', { hidden: true }).action(runImporter)
}

// A device that is not here may be one of the software driver's: the demo says that it uses that, and does.
async function demoOn(selector: string, file: string, say: (line: string) => void, json: boolean): Promise<Result | undefined> {
  await fileSize(file)
  try {
    selectDevice(selector)
  } catch (error) {
    if (!(error instanceof DriverError) || isSoftwareAsked() || !/^(level_zero|sycl)\b/.test(selector)) throw error
    const listing = await softwareListing()
    if (typeof listing === 'string' || !listing.backends.some((b) => b.available && selector.startsWith(b.backend))) throw error
    say(dim(`${error.message}; using the software driver (--software)`))
    process.exitCode = (await runSelf(['demo', '--software', '--device', selector, file, ...(json ? ['--json'] : [])], { inherit: true, timeoutMs: 0 })).code ?? 1
    return undefined
  }
  return demo(file, selector, say)
}

async function demo(file: string, selector: string, say: (line: string) => void): Promise<Result> {
  const device = selectDevice(selector)
  const nbytes = await fileSize(file)
  say(`${bold('exporter')} ${process.pid}: ${file}, ${size(nbytes)}, on ${device}`)
  const loadStart = performance.now()
  using memory = new MemoryUSMDevice(nbytes, { device })
  await load(file, memory)
  const loadMs = performance.now() - loadStart
  const digest = sha256(memory)
  say(`  loaded in ${loadMs.toFixed(1)} ms, SHA-256 ${digest}`)

  const exportStart = performance.now()
  using handle = new IPCMemoryHandle(memory, { name: 'demo' })
  const bytes = handle.toBytes()
  const exportMs = performance.now() - exportStart
  const { verdict, fields } = inspect(bytes, { policy: { now: Date.now() } })
  const vendorBytes = Number(fields.find((f) => f.name === 'section_length')!.value)
  say(`  exported in ${exportMs.toFixed(2)} ms: handle of ${bytes.length} bytes (${vendorBytes} of them the driver's), verdict ${verdict}`)

  const [ours, theirs] = FdChannel.pair()
  const child = importer(theirs)
  try {
    const deadline = { timeoutMs: 30_000 + nbytes / 1e5 }
    await ours.send(bytes, { descriptors: handle.descriptors, ...deadline })
    await sendJson(ours, { device: selector }, deadline)
    const opened = await receiveJson<DemoOpened>(ours, deadline)
    say(`${bold('importer')} ${opened.pid}: verdict ${opened.verdict}, opened in ${opened.openMs.toFixed(2)} ms (${opened.path}), read whole in ${opened.readMs.toFixed(1)} ms`)
    say(`  SHA-256 ${opened.sha256}, anonymous memory grew by ${size(opened.rssAnonGrowth)}`)

    await sendJson(ours, { write: MARK.slice(0, nbytes) }, deadline)
    await receiveJson<DemoWritten>(ours, deadline)
    const seen = new Uint8Array(Math.min(MARK.length, nbytes))
    memory.copyTo(seen)
    const writeSeen = new TextDecoder().decode(seen) === MARK.slice(0, nbytes)
    say(`  wrote "${MARK.slice(0, nbytes)}": ${writeSeen ? 'the exporter sees it' : 'NOT seen by the exporter'}`)

    await sendJson(ours, { close: true }, deadline)
    const done = await receiveJson<DemoDone>(ours, deadline)
    await exited(child)
    ours.close()
    handle.close()
    memory.close()
    const books = { exporter: closedBooks(), importer: done }
    const open = books.exporter.ledger + books.exporter.registry + done.ledger + done.registry
    say(`${bold('books')}: exporter ledger ${books.exporter.ledger}, registry ${books.exporter.registry}; importer ledger ${done.ledger}, registry ${done.registry}`)
    const ok = verdict === 'ok' && opened.verdict === 'ok' && opened.sha256 === digest && writeSeen && open === 0
    say(ok ? green('digests are equal, the write was seen, ledger and registry are empty') : bold('FAILED: see above'))
    return {
      ok, file, nbytes, device: device.selector,
      handle: { bytes: bytes.length, vendorBytes, verdict },
      exporter: { pid: process.pid, sha256: digest, loadMs, exportMs },
      importer: opened, writeSeen, books,
    }
  } finally {
    ours.close()
    child.kill()
  }
}

/** @throws UsageError unless it is a file with something in it */
export async function fileSize(file: string): Promise<number> {
  const info = await stat(file).catch((error: Error) => {
    throw new UsageError(`cannot read ${file}: ${error.message}`)
  })
  if (!info.isFile()) throw new UsageError(`${file} is not a file`)
  if (info.size === 0) throw new UsageError(`${file} is empty: there is nothing to share`)
  return info.size
}

async function load(file: string, memory: MemoryUSMDevice): Promise<void> {
  const source = await open(file)
  try {
    const buffer = new Uint8Array(1 << 20)
    for (let at = 0; at < memory.nbytes; ) {
      const { bytesRead } = await source.read(buffer, 0, Math.min(buffer.length, memory.nbytes - at), at)
      if (bytesRead === 0) throw new UsageError(`${file} became shorter while it was read`)
      memory.copyFrom(buffer.subarray(0, bytesRead), at)
      at += bytesRead
    }
  } finally {
    await source.close()
  }
}

function importer(end: FdChannel): ChildProcess {
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, 'demo-importer'], {
    stdio: ['ignore', 'inherit', 'inherit', end.fd],
  })
  end.close()
  return child
}

function exited(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => (child.exitCode === null && child.signalCode === null ? child.once('exit', () => resolve()) : resolve()))
}

function closedBooks(): { ledger: number; registry: number } {
  return { ledger: ledger().live, registry: ledger({ process: true }).resources.length }
}
