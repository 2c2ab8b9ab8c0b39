/** Tasks in processes of their own: what they load may crash or hang, and that is then a finding. */
import { writeSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { redact } from '../cli/output.ts'
import { startSelf } from '../cli/run_self.ts'
import type { Probe } from './probe.ts'
import { SHOWN, isShown } from './variables.ts'

/** The hidden command that runs a task. */
export const TASK_COMMAND = 'doctor-task'
/** Where a task's answers go: what a driver prints on stdout is not among them. */
const ANSWERS_FD = 3
const MOST_OUTPUT = 2000

type Line = { step: string } | { key: string; value: unknown } | { error: string } | { done: true }

export function runTask<Answers>(
  task: string, args: readonly string[], { env = {}, seconds }: { env?: Record<string, string>; seconds: number },
): Promise<Probe<Answers>> {
  const child = startSelf([TASK_COMMAND, task, String(seconds), ...args], ['ignore', 'pipe', 'pipe', 'pipe'], { ...process.env, ...env })
  const probe: Probe<Answers> = { answers: {}, end: 'crashed', step: '', problem: '', output: '' }
  let [lines, output, isDone, isLate] = ['', '', false, false]
  const print = (text: string): void => void (output = (output + text).slice(-MOST_OUTPUT))
  // The task ends itself; this is for one that cannot even do that.
  const timer = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, (seconds + 5) * 1000)

  child.stdout!.setEncoding('utf8').on('data', print)
  child.stderr!.setEncoding('utf8').on('data', print)
  const answers = child.stdio[ANSWERS_FD] as Readable
  answers.setEncoding('utf8').on('data', (text: string) => (lines += text))
  answers.on('error', () => {})
  return new Promise((resolve) => {
    const settle = (end: Probe<Answers>['end'], problem: string): void => {
      clearTimeout(timer)
      resolve({ ...probe, end, problem, output: clean(output) })
    }
    child.once('error', (error) => settle('failed', `cannot start ${process.execPath}: ${error.message}`))
    child.once('close', (code, signal) => {
      let error: string | undefined
      for (const line of lines.split('\n')) {
        const said = parse(line)
        if (said === undefined) continue
        if ('step' in said) probe.step = said.step
        else if ('key' in said) probe.answers[said.key as keyof Answers] = (typeof said.value === 'string' ? without(said.value, HIDDEN) : said.value) as never
        else if ('error' in said) error = said.error
        else isDone = true
      }
      if (isLate || signal === 'SIGALRM') settle('silent', `${seconds} s`)
      else if (signal !== null) settle('crashed', signal)
      else if (error !== undefined) settle('failed', withoutValues(error))
      else if (isDone && code === 0) settle('done', '')
      else settle('crashed', `exit code ${code}`)
    })
  })
}

function parse(line: string): Line | undefined {
  try {
    return line === '' ? undefined : (JSON.parse(line) as Line)
  } catch {
    return undefined // cut off by a crash
  }
}

// What a library printed may be anything, values of the environment included.
function clean(text: string): string {
  // oxlint-disable-next-line no-control-regex
  const plain = text.replace(/\u001b\[[\d;]*m/g, '').replace(/[^\n\P{C}]/gu, '?')
  return redact(withoutValues(plain)).split('\n').map((line) => line.trimEnd()).filter((line) => line !== '').slice(-12).join('\n')
}

const SHORTEST_SECRET = 8

type IsSecret = (name: string, value: string) => boolean
/** Even of the variables that are shown: what does not look like theirs. */
const HIDDEN: IsSecret = (name, value) => SHOWN.includes(name) && !isShown(name, value)

function withoutValues(text: string): string {
  return without(text, (name, value) => name !== 'HOME' && !isShown(name, value))
}

function without(text: string, isSecret: IsSecret): string {
  const values = Object.entries(process.env).filter(([name, value = '']) => value.length >= SHORTEST_SECRET && isSecret(name, value))
  values.sort(([, a], [, b]) => b!.length - a!.length)
  return values.reduce((shown, [name, value]) => shown.replaceAll(value!, () => `$${name}`), text)
}

/** A task's way to answer. */
export interface Teller<Answers> {
  /** What comes next, named so that a crash can be blamed on it. */
  step(name: string): void
  answer<Key extends keyof Answers & string>(key: Key, value: Answers[Key]): void
}

export function teller<Answers>(): Teller<Answers> & { error(text: string): void; done(): void } {
  const tell = (line: Line): void => void writeSync(ANSWERS_FD, `${JSON.stringify(line)}\n`)
  return {
    step: (step) => tell({ step }),
    answer: (key, value) => tell({ key, value }),
    error: (error) => tell({ error }),
    done: () => tell({ done: true }),
  }
}
