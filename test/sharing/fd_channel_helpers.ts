import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { ExecutionContext } from 'ava'
import { FdChannel, type Frame } from '../../host/sharing/fd_channel.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const preamble = `
import { FdChannel } from ${JSON.stringify(new URL('../../host/sharing/fd_channel.ts', import.meta.url).href)}
import { Descriptor } from ${JSON.stringify(new URL('../../host/descriptor.ts', import.meta.url).href)}
`

export const openDescriptors = (): number => readdirSync('/proc/self/fd').length

/** A path in a new directory that others may enter; removed with the test. */
export function socketPath(t: ExecutionContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'usm-ipc-'))
  chmodSync(directory, 0o755)
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, 'socket')
}

export const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

/** A frame of `nbytes` that says its number at both ends. */
export function numbered(number: number, nbytes = 8): Uint8Array {
  const frame = new Uint8Array(nbytes)
  const view = new DataView(frame.buffer)
  view.setUint32(0, number)
  view.setUint32(nbytes - 4, ~number >>> 0)
  return frame
}

export function numberOf(t: ExecutionContext, frame: Frame): number {
  const view = new DataView(frame.bytes.buffer, frame.bytes.byteOffset, frame.bytes.byteLength)
  const number = view.getUint32(0)
  t.is(view.getUint32(view.byteLength - 4), ~number >>> 0, 'a frame arrives whole')
  return number
}

/** Every frame until the peer has gone. */
export async function drain(t: ExecutionContext, channel: FdChannel): Promise<number[]> {
  const numbers: number[] = []
  for (;;) {
    try {
      numbers.push(numberOf(t, await channel.receive()))
    } catch (error) {
      t.is((error as { code?: string }).code, 'ERR_USM_IPC_PEER_GONE')
      return numbers
    }
  }
}

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** A Node process that runs `source`, with the channel classes imported. Killed if it does not end by itself. */
export function node(source: string, stdio: StdioOptions = ['pipe', 'pipe', 'pipe'], limit?: string): ChildProcess {
  const args = ['--import=tsx', '--input-type=module', '--eval', preamble + source]
  const options = { cwd: root, stdio, timeout: 60_000, killSignal: 'SIGKILL' as const }
  if (limit === undefined) return spawn(process.execPath, args, options)
  return spawn('sh', ['-c', `${limit}; exec "$0" "$@"`, process.execPath, ...args], options)
}

export function python(source: string, stdio: StdioOptions, user?: number): ChildProcess {
  const identity = user === undefined ? {} : { uid: user, gid: user }
  return spawn('python3', ['-c', 'import socket, array, os, sys\n' + source], {
    cwd: '/',
    stdio,
    timeout: 60_000,
    killSignal: 'SIGKILL',
    ...identity,
  })
}

export async function ended(child: ChildProcess): Promise<Ended> {
  const [[code, signal], stdout, stderr] = await Promise.all([
    once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>,
    child.stdout === null ? '' : text(child.stdout),
    child.stderr === null ? '' : text(child.stderr),
  ])
  return { code, signal, stdout, stderr }
}

export const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Fills the sockets' buffers: sends until one has to wait. Returns the numbers sent and that last, pending one. */
export async function fill(
  channel: FdChannel,
  nbytes = 65536,
): Promise<{ sent: number[]; waiting: Promise<void>; next: number }> {
  const sent: number[] = []
  for (let number = 0; ; number++) {
    try {
      await channel.send(numbered(number, nbytes), { timeoutMs: 0 })
      sent.push(number)
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_USM_IPC_TIMEOUT') throw error
      return { sent, waiting: channel.send(numbered(number, nbytes)), next: number + 1 }
    }
  }
}

export { alive, startChannelThread as startThread } from '../support/child.ts'
