/** Memory files with any seals and size, made by another process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const SEAL = { seal: 1, shrink: 2, grow: 4, write: 8, futureWrite: 16 } as const
/** The seals of memory that is shared for reading and writing. */
export const SEALED = SEAL.seal | SEAL.shrink | SEAL.grow

export interface Memfd {
  /** A descriptor of this process; closed with the server. */
  fd: number
  stDev: bigint
  stIno: bigint
}

export interface MemfdServer {
  make(size: number, seals: number, fill?: number): Promise<Memfd>
  close(): Promise<void>
}

export function memfdServer(): MemfdServer {
  const script = fileURLToPath(new URL('memfd_server.py', import.meta.url))
  const server = spawn('python3', [script], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]()
  const opened: number[] = []
  return {
    async make(size, seals, fill = 0) {
      server.stdin.write(JSON.stringify({ size, seals, fill }) + '\n')
      const { value, done } = await lines.next()
      if (done) throw new Error('the memfd server has ended: is python3 (>= 3.8) there?')
      const { fd: theirs, dev, ino } = JSON.parse(value as string) as { fd: number; dev: string; ino: string }
      const fd = openSync(`/proc/${server.pid}/fd/${theirs}`, 'r+')
      opened.push(fd)
      return { fd, stDev: BigInt(dev), stIno: BigInt(ino) }
    },
    async close() {
      for (const fd of opened) closeSync(fd)
      const exit = server.exitCode === null ? once(server, 'exit') : undefined
      server.stdin.end()
      await exit
    },
  }
}
