import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ledger } from '../books.ts'
import { validate } from '../core/index.ts'
import { selectDevice } from '../device.ts'
import { IPCMemoryHandle } from '../handle.ts'
import type { UsmMemory } from '../memory.ts'
import { FdChannel } from '../sharing/fd_channel.ts'
import { receiveJson, sendJson, type DemoDone, type DemoOpened, type DemoWritten } from './demo_protocol.ts'

const CHANNEL_FD = 3

/** The second process: opens what comes over descriptor 3, reads it all, writes where it is told, closes. */
export async function runImporter(): Promise<void> {
  const channel = FdChannel.adopt(CHANNEL_FD)
  const { bytes } = await channel.receive()
  const { device } = await receiveJson<{ device: string }>(channel)
  // Once around the reading path first, so that what the runtime allocates for code is not taken for the mapping's.
  createHash('sha256').update(new Uint8Array(SLICE)).digest('hex')
  const before = rssAnon()
  const start = performance.now()
  const memory = IPCMemoryHandle.open(bytes, selectDevice(device), undefined, { channel })
  const openMs = performance.now() - start
  const readStart = performance.now()
  const digest = sha256(memory)
  const opened: DemoOpened = {
    pid: process.pid, verdict: validate(bytes, { now: Date.now() }), path: memory.path!, openMs,
    readMs: performance.now() - readStart, sha256: digest, rssAnonGrowth: rssAnon() - before,
  }
  await sendJson(channel, opened)

  const { write } = await receiveJson<{ write: string }>(channel)
  const written: DemoWritten = { written: memory.copyFrom(new TextEncoder().encode(write)) }
  await sendJson(channel, written)

  await receiveJson(channel)
  IPCMemoryHandle.closeMapping(memory)
  const done: DemoDone = { ledger: ledger().live, registry: ledger({ process: true }).resources.length }
  await sendJson(channel, done)
  channel.close()
}

const SLICE = 1 << 20

/** Of all bytes, through one buffer of 1 MiB: works for memory that the host cannot address, too. */
export function sha256(memory: UsmMemory): string {
  const hash = createHash('sha256')
  const buffer = new Uint8Array(SLICE)
  for (let at = 0; at < memory.nbytes; at += SLICE) {
    const slice = buffer.subarray(0, Math.min(SLICE, memory.nbytes - at))
    memory.copyTo(slice, at)
    hash.update(slice)
  }
  return hash.digest('hex')
}

function rssAnon(): number {
  return 1024 * Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1] ?? 0)
}
