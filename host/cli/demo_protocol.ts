/** What the demo's two processes say to each other, one JSON object a frame; the envelope goes first, as it is. */
import type { FdChannel } from '../sharing/fd_channel.ts'

export interface DemoOpened {
  pid: number
  verdict: string
  path: string
  openMs: number
  readMs: number
  sha256: string
  /** Bytes by which RssAnon grew from before the open to after reading everything. */
  rssAnonGrowth: number
}
export interface DemoWritten {
  written: number
}
export interface DemoDone {
  ledger: number
  registry: number
}

interface Deadline {
  timeoutMs?: number
}

export async function sendJson(channel: FdChannel, value: object, deadline: Deadline = {}): Promise<void> {
  await channel.send(new TextEncoder().encode(JSON.stringify(value)), deadline)
}

export async function receiveJson<T>(channel: FdChannel, deadline: Deadline = {}): Promise<T> {
  const { bytes } = await channel.receive(deadline)
  return JSON.parse(new TextDecoder().decode(bytes)) as T
}
