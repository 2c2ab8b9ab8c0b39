/** What sharing saves: the same bytes sent to another process, over node's IPC and over a Unix socket. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { paired, type Paired } from './support/paired.ts'
import type { Party } from './support/party.ts'

const MIB = 2 ** 20
const OPENS = 200
/** Sizes, and how many rounds. */
const SIZES: readonly [number, number][] = [[MIB, 15], [64 * MIB, 7], [1024 * MIB, 3]]

export interface BytesResult {
  nbytes: number
  /** Opening what is shared, against sending it. */
  ipc: Paired
  socket: Paired
  /** Opening it and copying all of it out, against sending it over the socket. */
  copied: Paired
}

export async function benchBytes(folder: string, exporter: Party, importer: Party): Promise<BytesResult[]> {
  const results: BytesResult[] = []
  for (const [nbytes, rounds] of SIZES) {
    const receiver = await Receiver.start(join(folder, `bytes-${nbytes}.sock`), nbytes)
    try {
      await exporter.say(`filled ${nbytes}`)
      const open = (): Promise<number> => importer.ask(`cycle filled-${nbytes} ${OPENS}`)
      const copied = (): Promise<number> => importer.ask(`copy filled-${nbytes} ${nbytes}`)
      const size = `${nbytes / MIB} MiB`
      results.push({
        nbytes,
        ipc: await paired(`session.open of ${size}, against process.send (advanced)`, open, () => receiver.overIpc(), rounds),
        socket: await paired(`session.open of ${size}, against a Unix socket (net)`, open, () => receiver.overSocket(), rounds),
        copied: await paired(`session.open and copyTo of ${size}, against a Unix socket (net)`, copied, () => receiver.overSocket(), rounds),
      })
      await exporter.say(`drop ${nbytes}`)
    } finally {
      receiver.stop()
    }
  }
  return results
}

class Receiver {
  readonly #child: ChildProcess
  readonly #socket: Socket
  readonly #bytes: Uint8Array

  private constructor(child: ChildProcess, socket: Socket, nbytes: number) {
    this.#child = child
    this.#socket = socket
    this.#bytes = new Uint8Array(nbytes).fill(2)
  }

  static async start(path: string, nbytes: number): Promise<Receiver> {
    const server = createServer().listen(path)
    await once(server, 'listening')
    const script = fileURLToPath(new URL('bytes_receiver.ts', import.meta.url))
    const child = fork(script, [path, String(nbytes)], { serialization: 'advanced' })
    const [socket] = (await once(server, 'connection')) as [Socket]
    server.close()
    return new Receiver(child, socket, nbytes)
  }

  async overIpc(): Promise<number> {
    const start = process.hrtime.bigint()
    this.#child.send(this.#bytes)
    const [length] = (await once(this.#child, 'message')) as [number]
    if (length !== this.#bytes.length) throw new Error(`${length} bytes came`)
    return Number(process.hrtime.bigint() - start)
  }

  async overSocket(): Promise<number> {
    const start = process.hrtime.bigint()
    this.#socket.write(this.#bytes)
    await once(this.#socket, 'data')
    return Number(process.hrtime.bigint() - start)
  }

  stop(): void {
    this.#socket.destroy()
    this.#child.kill()
  }
}
