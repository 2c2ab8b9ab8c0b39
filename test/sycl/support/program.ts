/** A program that reads commands on its standard input, one a line, and answers each with a line on descriptor 3. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Exit } from '../../support/child.ts'

/** It ends with its input, and so with the test; this is for one that hangs. */
const DEADLINE = 600_000

export interface Answer {
  /** 'gone': the program ended instead of answering. */
  status: 'ok' | 'null' | 'error' | 'gone'
  text: string
}

export interface Program {
  readonly pid: number
  /** Its answer, whatever it is. */
  ask(command: string): Promise<Answer>
  /** The text of an answer that must be ok. */
  do(command: string): Promise<string>
  end(): Promise<Exit>
  kill(): Promise<Exit>
}

export function startProgram(program: string, args: string[], env: Record<string, string>): Program {
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'], env: { ...process.env, ...env }, timeout: DEADLINE, killSignal: 'SIGKILL',
  })
  const exit: Exit = { code: null, signal: null, stdout: '', stderr: '' }
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (exit.stdout += text))
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (exit.stderr += text))
  child.stdin!.on('error', () => {}) // it may be gone
  const exited = once(child, 'close').then(([code, signal]) => Object.assign(exit, { code, signal }))
  const lines = createInterface(child.stdio[3] as Readable)[Symbol.asyncIterator]()

  const ask = async (command: string): Promise<Answer> => {
    child.stdin!.write(`${command}\n`)
    const { value, done } = await lines.next()
    if (done) return { status: 'gone', text: '' }
    const [status, ...rest] = String(value).split(' ')
    const text = rest.join(' ')
    return { status: text === 'null' ? 'null' : (status as Answer['status']), text }
  }
  return {
    pid: child.pid!,
    ask,
    async do(command) {
      const { status, text } = await ask(command)
      if (status !== 'ok') throw new Error(`${command.slice(0, 60)}: ${status} ${text}\n${exit.stderr}`)
      return text
    },
    end() {
      child.stdin!.end()
      return exited
    },
    kill() {
      child.kill('SIGKILL')
      return exited
    },
  }
}
