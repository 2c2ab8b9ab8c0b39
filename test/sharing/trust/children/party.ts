/** Either side of a share, which does one thing after another as it is told. Argument: the selector of its device. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import {
  FdChannel, MemoryUSMDevice, connect, listDevices, listen,
  type EnvelopeKey, type Exporter, type MemoryIPCDevice, type Peer, type Session,
} from '../../../../host/index.ts'
import { parse, say, startChannelThread } from '../../../support/child.ts'
import { counts, openDescriptors } from '../../../support/counts.ts'
import type { Authorize, KeyText, Reply, Request } from '../protocol.ts'

const selector = process.argv[2]!
const control = FdChannel.adopt(3)
const asked: number[] = []
let dropped: Record<string, number> = {}
const published = new Map<string, MemoryUSMDevice>()
let exporter: Exporter | undefined
let session: Session | undefined
let memory: MemoryIPCDevice | undefined

const keyFrom = ({ id, hex }: KeyText): EnvelopeKey => ({ id, key: new Uint8Array(Buffer.from(hex, 'hex')) })

function authorizer(how: Authorize): (peer: Peer) => boolean | Promise<boolean> {
  return ({ uid }) => {
    asked.push(uid)
    if (typeof how === 'object') return how.uids.includes(uid)
    switch (how) {
      case 'throws':
        throw new Error('a secret of the exporter')
      case 'rejects':
        return Promise.reject(new Error('a secret of the exporter'))
      case 'hangs':
        return new Promise(() => {})
      case 'truthy':
        return 1 as unknown as boolean
      case 'nothing':
        return undefined as unknown as boolean
    }
  }
}

function isSocket(fd: number): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:')
  } catch {
    return false // the listing's own
  }
}

function values(): number[] {
  const bytes = new Uint8Array(memory!.nbytes)
  memory!.copyTo(bytes)
  return [...new Set(bytes)]
}

async function answer(request: Request): Promise<Reply> {
  switch (request.do) {
    case 'listen': {
      const { path, mode, authorize, key, limits } = request
      exporter = await listen({
        path, ...(mode === undefined ? {} : { mode }), ...(authorize && { authorize: authorizer(authorize) }), ...(key && { key: keyFrom(key) }),
        ...(limits && { limits }),
      })
      exporter.on('disconnect', (_, why) => {
        const code = (why as { code?: string }).code ?? String(why)
        dropped[code] = (dropped[code] ?? 0) + 1
      })
      return { uid: process.geteuid!() }
    }
    case 'publish': {
      const made = new MemoryUSMDevice(request.nbytes, { device: selector, ...(request.sharing && { sharing: request.sharing }) })
      made.fill(request.fill)
      published.set(request.name, made)
      exporter!.publish(request.name, made)
      return {}
    }
    case 'unpublish':
      await exporter!.unpublish(request.name, { revoke: true, graceMs: 0 })
      published.get(request.name)?.close()
      return {}
    case 'rotate':
      exporter!.rotateKey(keyFrom(request.key))
      return {}
    case 'leases':
      return { leases: exporter!.leases() }
    case 'asked':
      return { asked: asked.splice(0) }
    case 'dropped': {
      const reply = { dropped }
      dropped = {}
      return reply
    }
    case 'connect': {
      const { path, serverUid, keys, requireAuthentication } = request
      await session?.close()
      session = await connect(path, {
        ...(serverUid === undefined ? {} : { serverUid }), ...(keys && { keys: keys.map(keyFrom) }), ...(requireAuthentication && { requireAuthentication }),
      })
      return { uid: process.geteuid!() }
    }
    case 'open':
      memory = await session!.open(request.name)
      return { values: values(), readOnly: memory.readOnly }
    case 'read':
      return { values: values() }
    case 'close':
      memory?.close()
      await session?.close()
      return {}
    case 'setuid':
      listDevices() // the runtimes are loaded by who may read them
      process.setgroups!([])
      process.setgid!(request.uid)
      process.setuid!(request.uid)
      return { uid: process.geteuid!() }
    case 'held': {
      const book = counts()
      return { held: { ...book, descriptors: openDescriptors(), leases: exporter?.leases().length ?? 0, peers: exporter?.peers.length ?? 0 } }
    }
    case 'die': {
      const sockets = readdirSync('/proc/self/fd').map(Number).filter((fd) => fd > 2 && isSocket(fd))
      const holder = spawn('sleep', ['30'], { stdio: ['ignore', 'ignore', 'ignore', ...sockets] })
      await once(holder, 'spawn')
      process.kill(process.pid, 'SIGKILL')
      return {}
    }
    case 'end':
      memory?.close()
      await session?.close()
      await exporter?.close()
      for (const made of published.values()) made.close()
      return { held: { ...counts(), descriptors: 0, leases: 0, peers: 0 } }
  }
}

await startChannelThread()
for (let ended = false; !ended; ) {
  const request = parse<Request>(await control.receive())
  let reply: Reply
  try {
    reply = await answer(request)
  } catch (error) {
    const { name, code, message, result } = error as Error & { code: string; result?: string }
    reply = { error: { name, code: code ?? 'none', message, ...(result === undefined ? {} : { result }) } }
  }
  await say(control, reply)
  ended = request.do === 'end'
}
control.close()
