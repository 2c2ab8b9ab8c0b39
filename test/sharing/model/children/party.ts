/**
 * One process of the model's: an exporter, or an importer with some sessions. It does what it is asked on descriptor 3,
 * many things at a time, and says what it sees.
 */
import { spawn } from 'node:child_process'
import { readdirSync, readlinkSync } from 'node:fs'
import { FdChannel } from '../../../../host/index.ts'
import { say } from '../../../support/child.ts'
import { counts, openDescriptors, settledDescriptors } from '../../../support/counts.ts'
import { collectUntil } from '../../../support/gc.ts'
import { books, watchCollector } from './books.ts'
import { ExporterSide } from './exporter_side.ts'
import { ImporterSide } from './importer_side.ts'
import type { Ask, Reply, Reset } from '../protocol.ts'

const CONTROL = 3
const control = FdChannel.adopt(CONTROL)
const selector = process.argv[2]!
const exporter = new ExporterSide(selector)
const importer = new ImporterSide()

async function answer(ask: Ask): Promise<Reply> {
  switch (ask.do) {
    case 'fork':
      return { pid: keeper() }
    case 'look':
      return { look: { ...exporter.look(), ...importer.look(), books: books() } }
    case 'reset':
      return { reset: await reset() }
    default:
      return (await exporter.answer(ask)) ?? (await importer.answer(ask)) ?? { error: 'UNKNOWN_COMMAND' }
  }
}

// A program that has every socket of this process but the control channel, and outlives it. Its end is the test's to see to.
function keeper(): number {
  const sockets = readdirSync('/proc/self/fd').map(Number).filter((fd) => {
    try {
      return fd > CONTROL && readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:')
    } catch {
      return false
    }
  })
  const child = spawn('sleep', ['120'], { stdio: ['ignore', 'ignore', 'ignore', ...sockets] })
  child.unref()
  return child.pid!
}

async function reset(): Promise<Reset> {
  await importer.reset()
  await exporter.reset()
  const counted = (): Reset => ({ ...counts(), descriptors: openDescriptors() })
  await collectUntil(() => counted().live === 0 && counted().claims === 0)
  await settledDescriptors()
  return counted()
}

// Everything that a process opens once: the channel thread, the driver, what libuv has for children.
async function warm(): Promise<void> {
  watchCollector()
  const path = process.argv[3]!
  spawn('true', { stdio: 'ignore' }).unref()
  await exporter.answer({ do: 'listen', path })
  await exporter.answer({ do: 'allocate', memory: 0, nbytes: 4096, seed: 1 })
  await exporter.answer({ do: 'publish', name: 'warm', memory: 0, offset: 0, nbytes: 4096 })
  await importer.answer({ do: 'connect', session: 0, path })
  await importer.answer({ do: 'open', session: 0, name: 'warm', slot: 0 })
  await reset()
}

async function serve(id: number, ask: Ask): Promise<void> {
  let reply: Reply
  try {
    reply = await answer(ask)
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string }
    if (typeof code !== 'string') throw error
    reply = { error: code.replace('ERR_USM_IPC_', ''), message }
  }
  await say(control, { id, ...reply })
}

await warm()
await say(control, { id: 0 })
for (;;) {
  const { bytes } = await control.receive()
  const { id, ...ask } = JSON.parse(new TextDecoder().decode(bytes)) as { id: number } & Ask
  void serve(id, ask)
}
