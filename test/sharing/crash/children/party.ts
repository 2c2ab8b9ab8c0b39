/** An exporter, an importer or both, which does what it is told, tells what happens to it, and dies at any step. */
import { spawn } from 'node:child_process'
import { readFileSync, readdirSync, readlinkSync, writeSync } from 'node:fs'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import type { Worker } from 'node:worker_threads'
import {
  FdChannel, IPCMemoryHandle, MemoryUSMDevice, connect, listen, type Exporter, type MemoryIPCDevice, type Session,
} from '../../../../host/index.ts'
import { steps } from '../../../../host/sharing/steps.ts'
import { decode, encode, startChannelThread } from '../../../support/child.ts'
import { counts, openDescriptors } from '../../../support/counts.ts'
import { collectUntil } from '../../../support/gc.ts'
import { typescriptWorker } from '../../../support/typescript_worker.ts'
import { lastWords, now, type Command, type Event, type Held, type Message } from '../protocol.ts'
import { ipcOption } from '../../../support/ipc.ts'

const device = process.argv[2]!
const control = FdChannel.adopt(3)
const memories = new Map<string, MemoryUSMDevice>()
const sessions = new Map<string, Session>()
const views: Uint8Array[] = []
let exporter: Exporter | undefined
let worker: Worker | undefined

// One after the other: a channel takes 64 at a time, and hundreds of peers may go at once.
let told = Promise.resolve()
const tell = (message: Message): Promise<void> => (told = told.then(() => control.send(new TextEncoder().encode(JSON.stringify(message)))))
/** Distributes over the kinds of events. */
type Happened = Event extends infer E ? (E extends Event ? Omit<E, 'at'> : never) : never
const happened = (event: Happened): void => void tell({ ...event, at: now() } as Event).catch(() => {})

function memory(name: string): MemoryUSMDevice {
  const found = memories.get(name)
  if (found === undefined) throw new Error(`there is no memory '${name}'`)
  return found
}

function session(name = 'session'): Session {
  const found = sessions.get(name)
  if (found === undefined) throw new Error(`there is no session '${name}'`)
  return found
}

async function connected(path: string, name = 'session'): Promise<Session> {
  const made = await connect(path)
  sessions.set(name, made)
  made.on('exporterGone', () => happened({ event: 'exporterGone', session: name }))
  made.on('revoked', (lease, graceMs) => happened({ event: 'revoked', session: name, name: lease.name, graceMs }))
  made.on('close', () => happened({ event: 'close', session: name }))
  return made
}

async function run(command: Command): Promise<unknown> {
  switch (command.do) {
    case 'allocate': {
      const made = new MemoryUSMDevice(command.nbytes ?? 65536, { device, ...ipcOption() })
      made.fill(command.byte)
      memories.set(command.memory, made)
      return
    }
    case 'fill':
      return memory(command.memory).fill(command.byte)
    case 'rename memory':
      memories.set(command.to, memory(command.memory))
      memories.delete(command.memory)
      return
    case 'check': {
      const bytes = new Uint8Array(memory(command.memory).nbytes)
      memory(command.memory).copyTo(bytes)
      return [...new Set(bytes)]
    }
    case 'close memory':
      memory(command.memory).close()
      memories.delete(command.memory)
      return
    case 'forget memory':
      return void memories.delete(command.memory)
    case 'view':
      return void views.push(memory(command.memory).view())
    case 'forget views':
      return void views.splice(0)
    case 'check views':
      return [...new Set(views.flatMap((one) => [...new Set(one)]))]
    case 'adopt': {
      const { of, offset = 0, nbytes } = command
      const whole = memory(of)
      const part = MemoryUSMDevice.fromPointer(whole.pointer + BigInt(offset), nbytes, { device, owner: whole, allowNeighbours: true })
      memories.set(command.memory, part)
      return part.baseAllocation!.nbytes
    }
    case 'pointer':
      return String(memory(command.memory).pointer)
    case 'envelope': {
      using handle = new IPCMemoryHandle(memory(command.memory))
      return encode(handle.toBytes())
    }
    case 'lease': {
      const { lease } = memory(command.memory) as MemoryIPCDevice
      return lease && {
        id: lease.id, name: lease.name, state: lease.state, mappingStaysValid: lease.mappingStaysValid, aborted: lease.signal.aborted,
        reason: (lease.signal.reason as { code?: string } | undefined)?.code,
      }
    }
    case 'listen':
      exporter = await listen({ path: command.path })
      exporter.on('connect', ({ pid }) => happened({ event: 'connect', pid }))
      exporter.on('disconnect', ({ pid }) => happened({ event: 'disconnect', pid }))
      exporter.on('lease', ({ id, peer: { pid } }) => happened({ event: 'lease', pid, id }))
      exporter.on('release', ({ id, peer: { pid } }) => happened({ event: 'release', pid, id }))
      return
    case 'publish': {
      const { offset, nbytes, ttl } = command
      return exporter!.publish(command.name, memory(command.memory), {
        ...(offset === undefined ? {} : { offset }), ...(nbytes === undefined ? {} : { nbytes }), ...(ttl === undefined ? {} : { ttl }),
      })
    }
    case 'unpublish': {
      const { name, revoke = false, graceMs = 1000, patienceMs } = command
      return exporter!.unpublish(name, { revoke, graceMs, ...(patienceMs === undefined ? {} : { signal: AbortSignal.timeout(patienceMs) }) })
    }
    case 'leases':
      return exporter!.leases()
    case 'close exporter':
      return exporter!.close(command.graceMs === undefined ? {} : { graceMs: command.graceMs })
    case 'connect':
      await connected(command.path, command.session)
      return
    case 'list':
      return (await session(command.session).list()).map(({ name }) => name)
    case 'open': {
      const options = command.timeoutMs === undefined ? undefined : { timeoutMs: command.timeoutMs }
      const opened = await session(command.session).open(command.name, options)
      memories.set(command.memory, opened)
      return { path: opened.path, nbytes: opened.nbytes }
    }
    case 'open bytes':
      memories.set(command.memory, await session(command.session).open(decode(command.bytes)))
      return
    case 'open many':
      for (let i = 0; i < command.sessions; i++) {
        const one = await (await connected(command.path, `session ${i}`)).open(command.name)
        memories.set(`memory ${i}`, one)
        const first = new Uint8Array(1)
        one.copyTo(first)
        if (first[0] !== 1) throw new Error(`memory ${i} reads ${first[0]}`)
      }
      return
    case 'session leases':
      return session(command.session).leases()
    case 'close session':
      await session(command.session).close()
      sessions.delete(command.session ?? 'session')
      return
    case 'session': {
      const { isClosed, signal } = session(command.session)
      return { isClosed, aborted: signal.aborted, reason: (signal.reason as { code?: string } | undefined)?.code }
    }
    case 'open and abort': {
      const aborter = new AbortController()
      const opened = session(command.session).open(command.name, { signal: aborter.signal })
      aborter.abort(new Error('changed my mind'))
      return outcome(opened)
    }
    case 'ask and close': {
      const one = session(command.session)
      const asked = [one.open(command.name), one.list(), one.openAll(), one.open(command.name)].map(outcome)
      await one.close()
      return Promise.all(asked)
    }
    case 'connect and close exporter': {
      const connecting = Array.from({ length: command.sessions }, () => connect(command.path))
      // Some are welcomed by then, some not.
      await connecting[0]
      const closed = exporter!.close()
      const outcomes = await Promise.all(connecting.map(outcome))
      await closed
      for (const made of await Promise.allSettled(connecting)) if (made.status === 'fulfilled') await made.value.close()
      return outcomes
    }
    case 'start worker':
      worker = typescriptWorker(new URL('holder.ts', import.meta.url))
      worker.postMessage(command.task)
      await once(worker, 'message')
      return
    case 'terminate worker':
      await worker!.terminate()
      return
    case 'counts': {
      const held: Held = {
        ...counts(), descriptors: openDescriptors(), leases: exporter?.leases().length ?? 0,
        sessionLeases: [...sessions.values()].reduce((sum, one) => sum + one.leases().length, 0),
      }
      return { ...held, rss: process.memoryUsage.rss() }
    }
    case 'collect':
      return collectUntil(() => false, 10)
    case 'die at':
      return dieAt(command)
    case 'exit':
      return process.exit(command.code)
    case 'finish':
      return
  }
}

/** `ok`, or the code of the error. */
function outcome(promise: Promise<unknown>): Promise<string> {
  return promise.then(() => 'ok', (error: Error & { code?: string }) => error.code ?? error.message)
}

function dieAt({ step, count, survivor, forker }: Extract<Command, { do: 'die at' }>): void {
  let left = count
  const leave = survivor === 'with a forked child' ? (createRequire(import.meta.url)(forker!) as { fork(): number }).fork : inheritor
  steps.at = (reached) => {
    if (reached !== step || --left > 0) return
    writeSync(1, lastWords(step, survivor === 'alone' ? 0 : leave()))
    process.kill(process.pid, 'SIGKILL')
    for (;;);
  }
}

/** Starts a program with copies of all connections and listening sockets but the one to the test. */
function inheritor(): number {
  const seqpackets = new Set(readFileSync('/proc/net/unix', 'latin1').split('\n').map((line) => line.trim().split(/\s+/)).filter((f) => f[4] === '0005').map((f) => f[6]))
  const sockets = readdirSync('/proc/self/fd').map(Number).filter((fd) => {
    try {
      return fd > 3 && seqpackets.has(/^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1])
    } catch {
      return false // the descriptor of the listing itself
    }
  })
  return spawn('sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', ...sockets] }).pid!
}

await startChannelThread()
for (;;) {
  const { bytes } = await control.receive()
  const { id, ...command } = JSON.parse(new TextDecoder().decode(bytes)) as Command & { id: number }
  void run(command as Command).then(
    (value) => tell({ id, value }),
    (error: Error & { code?: string; verdict?: string }) => tell({ id, failure: { name: error.name, code: String(error.code), verdict: error.verdict, message: error.message } }),
  ).catch(() => {})
  // Whatever it holds by then does not keep it running.
  if (command.do === 'finish') break
}
await told
control.close()
