import { basename } from 'node:path'
import { Argument, Option, type Command } from 'commander'
import { loadFile, loadSafetensors, type LoadedFile } from '../safetensors/load.ts'
import { publishTensors } from '../safetensors/publish.ts'
import { listen, type Exporter } from '../sharing/exporter.ts'
import type { ExporterOptions } from '../sharing/exporter_options.ts'
import { addKeyOptions, readKey, type KeyOptions } from './key_file.ts'
import { UsageError, bold, dim, integer, size } from './output.ts'
import { progress } from './progress.ts'
import { defaultSocket } from './socket_path.ts'
import { untilSignal } from './until.ts'

interface Options extends KeyOptions {
  device?: string
  socket?: string
  name?: string
  format?: 'safetensors' | 'raw'
  mode?: number
  allowUid: number[]
  readOnly?: boolean
  ttl?: number
  json?: boolean
  quiet?: boolean
}

/** Longest timer of the runtime, in seconds. */
const MAX_TTL = Math.floor((2 ** 31 - 1) / 1000)
const POLL_MS = 200

export function addShare(program: Command): void {
  addKeyOptions(program
    .command('share')
    .description('Load a file into device memory once, and share it with any number of processes until you end the command.')
    .addArgument(new Argument('<file>', 'a .safetensors file, each of whose tensors gets its name, or any other file'))
    .option('--device <selector>', 'where to load it: host, level_zero:gpu, sycl:gpu:1 (default: the first device with memory of its own)')
    .option('--socket <path>', 'where importers connect (default: a socket named after the file in a folder of yours alone)')
    .option('--name <name>', 'what the names of the tensors begin with; of another file, its name (default: its base name)')
    .addOption(new Option('--format <format>', 'how to read the file (default: by its ending)').choices(['safetensors', 'raw']))
    .addOption(new Option('--mode <octal>', "the socket's file mode (default 600); with more than this user, name them with --allow-uid").argParser(octal))
    .addOption(new Option('--allow-uid <number>', 'also serve this user; may be repeated').argParser(uids).default([], 'none'))
    .option('--read-only', 'importers cannot write it: enforced by the backend, or refused where that cannot be')
    .addOption(new Option('--ttl <seconds>', 'serve nobody new after this time, and end with the last lease').argParser(integer('--ttl', 1, MAX_TTL)))
    .option('--json', 'print one line of JSON when it is ready')
    .option('--quiet', 'no progress'), 'seal what is shared with this key')
    .addHelpText('after', `
Examples:
  $ usm-ipc share model.safetensors --device host
  $ usm-ipc share model.safetensors --device sycl:gpu --read-only --key-file secret.key
  $ usm-ipc share model.safetensors --socket /srv/model.sock --mode 660 --allow-uid 1001 --allow-uid 1002

Then, in other processes: usm-ipc list SOCKET, usm-ipc attach SOCKET [NAME], or connect(SOCKET) in a program.
Ctrl-C or SIGTERM ends it: the importers are told, have a second to close, and the socket is removed.

Exit code: 0 it was ended, 1 the file, the device or the socket did not do, 2 wrong usage.`)
    .action(share)
}

async function share(path: string, options: Options): Promise<void> {
  const { json, ttl } = options
  const access = accessOf(options)
  const key = readKey(options)
  const socket = options.socket ?? defaultSocket(path)
  using file = await load(path, options)
  await using exporter = await listen({ path: socket, ...access, ...(key === undefined ? {} : { key }) })
  const isTensors = isSafetensors(path, options)
  const names = publishTensors(exporter, file, {
    ...(isTensors && options.name !== undefined ? { prefix: options.name } : {}), ...(ttl === undefined ? {} : { ttl: ttl * 1000 }),
  })
  const ended = untilSignal()
  const { selector } = file.memory.device
  const empty = file.tensors.length - names.length
  if (json) console.log(JSON.stringify({ socket: exporter.path, pid: process.pid, device: selector, nbytes: file.memory.nbytes, names, empty }))
  else {
    console.log(`${bold(basename(path))} is shared on ${selector}: ${names.length} ${names.length === 1 ? 'name' : 'names'}, ${size(file.memory.nbytes)}`)
    if (empty > 0) console.log(dim(`${empty} of the tensors ${empty === 1 ? 'has' : 'have'} no data to share`))
    console.log(`  usm-ipc list ${exporter.path}\n  usm-ipc attach ${exporter.path} [NAME]\n${dim('Until Ctrl-C.')}`)
  }
  try {
    await Promise.race([ended.signal, ...(ttl === undefined ? [] : [untilUnused(exporter, ttl * 1000)])])
  } finally {
    ended.cancel()
  }
}

async function load(path: string, options: Options): Promise<LoadedFile> {
  const shown = progress(`loading ${basename(path)}`, !options.json && !options.quiet)
  const loading = { onProgress: shown.update, ...(options.readOnly ? { sharing: 'readOnly' as const } : {}) }
  try {
    return isSafetensors(path, options)
      ? await loadSafetensors(path, options.device, loading)
      : await loadFile(path, options.device, options.name ?? basename(path), loading)
  } finally {
    shown.end()
  }
}

function isSafetensors(path: string, { format }: Options): boolean {
  return format === undefined ? path.endsWith('.safetensors') : format === 'safetensors'
}

/** Who may connect. */
function accessOf({ mode, allowUid, socket }: Options): Pick<ExporterOptions, 'mode' | 'authorize'> {
  if (allowUid.length === 0) {
    if (mode !== undefined && (mode & 0o077) !== 0) throw new UsageError('--mode lets other users connect: name those to serve with --allow-uid')
    return mode === undefined ? {} : { mode }
  }
  if (socket === undefined) throw new UsageError('--allow-uid needs --socket: the default folder is closed to other users')
  const allowed = new Set([process.geteuid!(), ...allowUid])
  // Whom the socket's mode lets connect is asked for his user all the same.
  return { mode: mode ?? 0o666, authorize: ({ uid }) => allowed.has(uid) }
}

/** The names have expired, and the last lease has ended. */
async function untilUnused(exporter: Exporter, ttlMs: number): Promise<void> {
  for (let wait = ttlMs; ; wait = POLL_MS) {
    await new Promise((resolve) => setTimeout(resolve, wait).unref())
    if (exporter.publications().length === 0 && exporter.leases().length === 0) return
  }
}

function octal(text: string): number {
  if (!/^0?[0-7]{3}$/.test(text)) throw new UsageError('--mode must be three octal digits, like 660')
  return Number.parseInt(text, 8)
}

function uids(text: string, before: number[]): number[] {
  return [...before, integer('--allow-uid', 0, 0xffff_fffe)(text)]
}
