/** Opening and closing a mapping on the host backend, in another process than the exporter's. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { FdChannel, IPCMemoryHandle, MemoryUSMDevice } from '../host/index.ts'
import { paired, type Paired } from './support/paired.ts'

const COUNT = 20_000
const SMALL = 4096
const LARGE = 2 ** 32

export interface OpenResult {
  /** Against the same system calls in C. */
  openClose: Paired
  /** Opening 4 GB against opening 4 KB. */
  attach: Paired
  /** Opening and closing them: munmap walks the page tables of 4 GB. */
  attachAndClose: Paired
}

export async function benchOpen(): Promise<OpenResult> {
  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-bench-'))
  try {
    const raw = join(folder, 'open_close')
    execFileSync('cc', ['-O2', '-o', raw, fileURLToPath(new URL('raw/open_close.c', import.meta.url))])
    const c = new Raw(raw, SMALL)
    const importer = new Importer()
    await importer.give(SMALL)
    await importer.give(LARGE)
    try {
      return {
        openClose: await paired('open + close, 4 KB, against the same system calls in C', async () => (await importer.time(0)).cycle, () => c.time()),
        attach: await paired('open 4 GB against 4 KB', async () => (await importer.time(1)).open, async () => (await importer.time(0)).open),
        attachAndClose: await paired('open + close 4 GB against 4 KB', async () => (await importer.time(1)).cycle, async () => (await importer.time(0)).cycle),
      }
    } finally {
      c.stop()
      importer.stop()
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

class Raw {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>

  constructor(program: string, nbytes: number) {
    this.#child = spawn(program, [String(nbytes), String(COUNT)], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]()
  }

  async time(): Promise<number> {
    this.#child.stdin!.write('go\n')
    return Number((await this.#lines.next()).value)
  }

  stop(): void {
    this.#child.kill()
  }
}

class Importer {
  readonly #child: ChildProcess
  readonly #channel: FdChannel
  readonly #held: Disposable[] = []

  constructor() {
    const [ours, theirs] = FdChannel.pair()
    this.#channel = ours
    this.#child = spawn(process.execPath, [...process.execArgv, fileURLToPath(new URL('open_importer.ts', import.meta.url)), String(COUNT)], {
      stdio: ['ignore', 'inherit', 'inherit', theirs.fd],
    })
    theirs.close()
  }

  async give(nbytes: number): Promise<void> {
    const memory = new MemoryUSMDevice(nbytes, { device: 'host' })
    const handle = new IPCMemoryHandle(memory)
    this.#held.push(handle, memory)
    await this.#channel.send(handle.toBytes(), { descriptors: handle.descriptors })
  }

  async time(which: number): Promise<{ cycle: number; open: number }> {
    await this.#channel.send(new Uint8Array([which]))
    const { bytes } = await this.#channel.receive()
    return JSON.parse(new TextDecoder().decode(bytes)) as { cycle: number; open: number }
  }

  stop(): void {
    this.#channel.close()
    for (const held of this.#held) held[Symbol.dispose]()
    this.#child.kill()
  }
}
