/** A Python library at work: `test/gpu/python/*_party.py`. */
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { FdChannel } from '../../host/index.ts'

const FOLDER = fileURLToPath(new URL('python', import.meta.url))

export class PythonParty {
  readonly channel: FdChannel
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: Interface
  readonly #answers: AsyncIterator<string>
  readonly #ended: Promise<unknown>

  /** @param script - without its ending */
  constructor(script: string, folder = FOLDER) {
    const [ours, theirs] = FdChannel.pair()
    this.channel = ours
    this.#child = spawn('python3', ['-u', `${script}.py`], { cwd: folder, stdio: ['pipe', 'pipe', 'inherit', theirs.fd], timeout: 150_000, killSignal: 'SIGKILL' }) as unknown as ChildProcessByStdio<Writable, Readable, null>
    theirs.close()
    this.#lines = createInterface({ input: this.#child.stdout })
    this.#answers = this.#lines[Symbol.asyncIterator]()
    this.#ended = once(this.#child, 'exit')
  }

  async do<T>(what: string, parameters: object = {}): Promise<T> {
    this.#child.stdin.write(`${JSON.stringify({ do: what, ...parameters })}\n`)
    const { value, done } = await this.#answers.next()
    if (done) throw new Error(`python ended at "${what}"`)
    const answer = JSON.parse(value) as { value: T; error?: string }
    if (answer.error !== undefined) throw new Error(`python, ${what}: ${answer.error}`)
    return answer.value
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end()
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 10_000)
    await this.#ended
    clearTimeout(timer)
    this.#lines.close()
    this.channel.close()
  }
}
