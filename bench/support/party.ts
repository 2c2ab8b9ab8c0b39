/** A process that reads commands, one a line, and answers each with one line. */
import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { FdChannel } from '../../host/index.ts'

export class Party {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>

  /** @param end - becomes the process's descriptor 3, and is closed here */
  constructor(program: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env, end?: FdChannel) {
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit', end?.fd ?? 'ignore'], env })
    end?.close()
    // A program that is not there has no output: say() tells.
    for (const each of [this.#child, this.#child.stdin!]) each.on('error', () => {})
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]()
  }

  async say(line: string): Promise<string> {
    this.#child.stdin!.write(`${line}\n`)
    const { value, done } = await this.#lines.next()
    if (done) throw new Error(`the process ended at "${line.slice(0, 40)}"`)
    return value as string
  }

  async numbers(line: string): Promise<number[]> {
    return (await this.say(line)).split(' ').map(Number)
  }

  async ask(line: string): Promise<number> {
    return (await this.numbers(line))[0]!
  }

  stop(): void {
    this.#child.kill()
  }
}
