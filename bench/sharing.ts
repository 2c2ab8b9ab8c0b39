/** Sharing on the host backend: opening through an exporter's socket, against what that takes at the least, and against other ways. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { benchBytes, type BytesResult } from './bytes.ts'
import { built, builtProtocol, notBuilt } from './support/built.ts'
import { median, paired, type Paired } from './support/paired.ts'
import { Party } from './support/party.ts'

const CYCLES = 1000
const CACHED = 50_000
const NAMES = 1000
const [SMALL, LARGE] = [4096, 2 ** 32]
/** Untouched: only the mapping is measured. */
const SIZES = [SMALL, 2 ** 16, 2 ** 20, 2 ** 26, 2 ** 30, LARGE]
const SHM_TYPED_ARRAY = 'shm-typed-array@0.1.1'

export interface SharingResult {
  /** Against a bare SCM_RIGHTS round trip, fstat and mmap; and munmap and close. */
  open: Paired
  openClose: Paired
  /** Opening each size against opening 4 KB. */
  sizes: Paired[]
  /** Nanoseconds of opening what is open, and of closing that. */
  cached: { open: number; close: number }
  /** Nanoseconds of opening all names of an arena, and of closing them. */
  openAll: { names: number; open: number; close: number }
  bytes: BytesResult[]
  /** Against attaching by a name that is known already. */
  attach: Paired[]
}

/** Undefined, with the reason said, where the parts are missing. */
export async function benchSharing(): Promise<SharingResult | undefined> {
  const missing = notBuilt()
  if (missing !== undefined) {
    console.error(`bench: sharing is left out: ${missing}`)
    return undefined
  }
  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-bench-'))
  const parties: Party[] = []
  const start = (program: string, ...args: (string | number)[]): Party => {
    const party = new Party(program, args.map(String))
    parties.push(party)
    return party
  }
  const node = (name: string, ...args: (string | number)[]): Party => start(process.execPath, ...process.execArgv, script(name), ...args)
  try {
    const raw = join(folder, 'scm_rights')
    execFileSync('cc', ['-O2', '-o', raw, script('raw/scm_rights.c')])
    const path = join(folder, 'exporter.sock')
    const exporter = node('sharing_exporter.ts', path, ...SIZES)
    await exporter.say(`arena ${NAMES}`)
    const importer = node('sharing_importer.ts', path)
    const bare = start(raw, ...(await frameBytes(SMALL)), SMALL)
    const cycle = async (size: number): Promise<[number, number, number]> => (await importer.numbers(`cycle size-${size} ${CYCLES}`)) as [number, number, number]
    const opening = async (size: number): Promise<number> => (await cycle(size))[0]
    const bareCycle = async (): Promise<number[]> => bare.numbers(String(CYCLES))
    return {
      open: await paired('session.open of 4 KB, against an SCM_RIGHTS round trip, fstat and mmap in C', () => opening(SMALL), async () => (await bareCycle())[0]!),
      openClose: await paired('session.open + close of 4 KB, against the same, munmap and close', async () => (await cycle(SMALL))[2], async () => (await bareCycle())[2]!),
      sizes: await inTurn(SIZES.slice(1), (size) => paired(`session.open of ${named(size)}, against 4 KB`, () => opening(size), () => opening(SMALL), 9)),
      cached: await cached(importer),
      openAll: await openAll(importer),
      bytes: await benchBytes(folder, exporter, importer),
      attach: await attach(folder, start, node, () => opening(SMALL)),
    }
  } finally {
    for (const party of parties) party.stop()
    rmSync(folder, { recursive: true })
  }
}

async function cached(importer: Party): Promise<SharingResult['cached']> {
  const rounds = await inTurn(Array.from({ length: 9 }), () => importer.numbers(`cached size-${SMALL} ${CACHED}`))
  return { open: median(rounds.map((r) => r[0]!)), close: median(rounds.map((r) => r[1]!)) }
}

async function openAll(importer: Party): Promise<SharingResult['openAll']> {
  const rounds = (await inTurn(Array.from({ length: 15 }), () => importer.numbers('all arena/'))).slice(3)
  if (rounds.some(([, , names]) => names !== NAMES)) throw new Error('openAll has not opened all')
  return { names: NAMES, open: median(rounds.map((r) => r[0]!)), close: median(rounds.map((r) => r[1]!)) }
}

/** Where one of them is missing, this says so and goes on. */
async function attach(folder: string, start: (program: string, ...args: (string | number)[]) => Party, node: (name: string, ...args: (string | number)[]) => Party, ours: () => Promise<number>): Promise<Paired[]> {
  const results: Paired[] = []
  const against = async (name: string, party: () => Party): Promise<void> => {
    try {
      const theirs = party()
      results.push(await paired(`session.open of 4 KB, against attaching with ${name}`, ours, () => theirs.ask(String(CYCLES))))
    } catch (error) {
      console.error(`bench: ${name} is left out: ${(error as Error).message.split('\n')[0]}`)
    }
  }
  await against('Python\'s multiprocessing.shared_memory', () => start('python3', script('raw/attach.py'), SMALL))
  await against(`npm's ${SHM_TYPED_ARRAY}`, () => {
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent', '--prefix', folder, SHM_TYPED_ARRAY], { stdio: ['ignore', 'ignore', 'inherit'] })
    return node('shm_typed_array.ts', folder, SMALL)
  })
  return results
}

/** Bytes of the frames that ask for it and that bring it. */
async function frameBytes(nbytes: number): Promise<[number, number]> {
  const { IPCMemoryHandle, MemoryUSMDevice } = await built()
  const { encode } = await builtProtocol()
  using memory = new MemoryUSMDevice(nbytes, { device: 'host' })
  using handle = new IPCMemoryHandle(memory)
  const [id, name] = [new Uint8Array(16), `size-${nbytes}`]
  const entry = { name, export: 1, revision: 1, allocation: id, backend: 'host', device: id, offset: 0, nbytes, leases: 1 }
  const request = encode({ t: 'open', id: 1000, name }).length
  return [request, encode({ t: 'opened', id: 1000, lease: 1000, entry, envelope: handle.toBytes() }).length]
}

async function inTurn<Item, Result>(items: readonly Item[], run: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (const item of items) results.push(await run(item))
  return results
}

function named(nbytes: number): string {
  return nbytes >= 2 ** 30 ? `${nbytes / 2 ** 30} GB` : nbytes >= 2 ** 20 ? `${nbytes / 2 ** 20} MB` : `${nbytes / 2 ** 10} KB`
}

function script(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url))
}
