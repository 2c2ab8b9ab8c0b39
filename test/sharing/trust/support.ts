/** Processes that share memory: of another user, in namespaces of their own, without permissions. */
import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ExecutionContext } from 'ava'
import { FdChannel } from '../../../host/index.ts'
import { DEADLINE, hear, say } from '../../support/child.ts'
import type { Held, Reply, Request } from './protocol.ts'

/** A user that has a number everywhere, unlike 65534. */
export const OTHER = 65533

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SCRIPT = fileURLToPath(new URL('children/party.ts', import.meta.url))

export interface Backend {
  title: string
  selector: 'host' | 'level_zero' | 'sycl'
  env: Record<string, string>
}

export const BACKENDS: readonly Backend[] = [
  { title: 'host', selector: 'host', env: {} },
  { title: 'level_zero', selector: 'level_zero', env: { USM_IPC_SOFTWARE_DRIVER: '1', USM_IPC_ZE_HANDLES: 'classic' } },
  { title: 'sycl', selector: 'sycl', env: { USM_IPC_SOFTWARE_DRIVER: '1', USM_IPC_ZE_HANDLES: 'classic', SYCL_UR_USE_LEVEL_ZERO_V2: '1' } },
]

export interface PartyOptions {
  backend?: Backend
  /** A program that runs it, with its arguments: unshare, a sandbox. */
  prefix?: readonly string[]
  env?: Record<string, string>
  timeoutMs?: number
}

export class Party implements AsyncDisposable {
  readonly process
  readonly #control: FdChannel
  readonly #exited: Promise<string>

  constructor({ backend = BACKENDS[0]!, prefix = [], env, timeoutMs = DEADLINE }: PartyOptions = {}) {
    const [ours, theirs] = FdChannel.pair()
    const [program, ...args] = [...prefix, process.execPath, '--import=tsx', SCRIPT, backend.selector]
    this.process = spawn(program!, args, {
      cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe', theirs.fd], timeout: timeoutMs, killSignal: 'SIGKILL',
      env: { ...process.env, ...backend.env, ...env },
    })
    theirs.close()
    this.#control = ours
    let stderr = ''
    this.process.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    this.#exited = new Promise((resolve) => {
      this.process.once('error', (error) => resolve(String(error)))
      this.process.once('close', (code, signal) => resolve(`it ended with ${signal ?? code}: ${stderr}`))
    })
  }

  /** Asks for what it does not answer. */
  tell(request: Request): Promise<void> {
    return say(this.#control, request)
  }

  /** Asks, and gives the answer, which may be an error of its. */
  async try(request: Request): Promise<Reply> {
    try {
      await say(this.#control, request)
      return await hear<Reply>(this.#control)
    } catch (cause) {
      this.process.kill('SIGKILL')
      throw new Error(`${request.do}: the party has gone: ${await this.#exited}`, { cause })
    }
  }

  async do(request: Request): Promise<Reply> {
    const reply = await this.try(request)
    if (reply.error !== undefined) throw new Error(`${request.do}: ${reply.error.code}: ${reply.error.message}`)
    return reply
  }

  async held(): Promise<Held> {
    return (await this.do({ do: 'held' })).held!
  }

  /** Lets it close everything, and gives what is left in its books. */
  async end(): Promise<Held> {
    const { held } = await this.do({ do: 'end' })
    await this.#exited
    return held!
  }

  /** Resolves when it is gone, with how. */
  async kill(): Promise<string> {
    this.process.kill('SIGKILL')
    return this.#exited
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    this.#control.close()
  }
}

/** A folder that every user may enter; removed with the test. */
export function openFolder(t: ExecutionContext, mode = 0o755): string {
  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-trust-'))
  chmodSync(folder, mode)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export function isRoot(t: ExecutionContext): boolean {
  return process.getuid!() === 0 || skipped(t, 'needs to be root, to start processes as another user')
}

export function skipped(t: ExecutionContext, why: string): false {
  console.log(`skipped: ${t.title}: ${why}`)
  t.pass()
  return false
}

/** Waits until it holds; bounded. Gives whether it did. */
export async function until(holds: () => boolean | Promise<boolean>, withinMs = 5000): Promise<boolean> {
  for (const end = performance.now() + withinMs; performance.now() < end; ) {
    if (await holds()) return true
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return holds()
}
