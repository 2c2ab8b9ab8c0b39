/** Child processes that run a TypeScript file of the tests, talk over a channel on descriptor 3, and never outlive their deadline. */
import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { FdChannel, type Frame, type IPCMemoryHandle } from '../../host/index.ts'

export const DEADLINE = 45_000
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface Child {
  readonly process: ChildProcess
  readonly pid: number
  readonly channel: FdChannel
  /** Resolves at the end of the process; never rejects. */
  readonly exited: Promise<Exit>
  kill(signal?: NodeJS.Signals): Promise<Exit>
}

export interface ChildOptions {
  arguments?: string[]
  env?: Record<string, string>
  execArgv?: string[]
  uid?: number
  /** How long it may live. */
  timeoutMs?: number
}

/** @param script - file URL of a TypeScript file */
export function startChild(script: URL, options: ChildOptions = {}): Child {
  const [ours, theirs] = FdChannel.pair()
  const args = ['--import=tsx', ...(options.execArgv ?? []), fileURLToPath(script), ...(options.arguments ?? [])]
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe', theirs.fd],
    timeout: options.timeoutMs ?? DEADLINE,
    killSignal: 'SIGKILL',
    env: { ...process.env, ...options.env },
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  })
  theirs.close()
  const exited = new Promise<Exit>((resolve) => {
    let [stdout, stderr] = ['', '']
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.once('error', (error) => resolve({ code: null, signal: null, stdout, stderr: String(error) }))
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
  return {
    process: child,
    pid: child.pid!,
    channel: ours,
    exited,
    async kill(signal = 'SIGKILL') {
      child.kill(signal)
      const exit = await exited
      ours.close()
      return exit
    },
  }
}

export async function say(channel: FdChannel, message: object, handle?: IPCMemoryHandle): Promise<void> {
  await channel.send(new TextEncoder().encode(JSON.stringify(message)), { timeoutMs: DEADLINE, descriptors: handle?.descriptors })
}

export async function hear<T>(channel: FdChannel): Promise<T> {
  return parse<T>(await channel.receive({ timeoutMs: DEADLINE }))
}

export function parse<T>(frame: Frame): T {
  return JSON.parse(new TextDecoder().decode(frame.bytes)) as T
}

export const encode = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
export const decode = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'))

/** The channel thread has two descriptors of its own, from when the first request has to wait: from now. */
export async function startChannelThread(): Promise<void> {
  const [here, there] = FdChannel.pair()
  // Long enough to have to wait on a machine under load, too.
  await here.receive({ timeoutMs: 100 }).catch(() => {})
  here.close()
  there.close()
}

/** Waits for what does not keep the process alive by itself, such as a hang-up. */
export async function alive<T>(promise: Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, 1000)
  try {
    return await promise
  } finally {
    clearInterval(timer)
  }
}
