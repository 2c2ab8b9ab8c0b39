/** Events that processes share: recorded in one, waited for in the other. */
import test, { type ExecutionContext } from 'ava'
import { IPCEvent, IPCMemoryHandle, MemoryUSMDevice, decode, ledger, listBackends } from '../../host/index.ts'
import { cudaBackend } from '../support/backends.ts'
import { decode as fromText, encode, hear, say, startChild, type Child } from '../support/child.ts'
import type { Request } from './children/event_party.ts'
import { rawDriver } from './raw_driver.ts'

cudaBackend('legacy')
const raw = rawDriver()
const device = 'cuda'
/** Longer than any question takes. */
const LONG = 1500

class Party {
  readonly child: Child = startChild(new URL('children/event_party.ts', import.meta.url))

  async do<T>(request: Request, handle?: IPCMemoryHandle): Promise<T> {
    await say(this.child.channel, request, handle)
    const answer = await hear<{ value?: T; error?: string }>(this.child.channel)
    if (answer.error !== undefined) throw Object.assign(new Error(answer.error), { code: answer.error })
    return answer.value as T
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.child.kill()
  }
}

async function refuses(t: ExecutionContext, promise: Promise<unknown>, code: string): Promise<void> {
  const error = await t.throwsAsync(promise)
  t.is((error as { code?: string }).code, `ERR_USM_IPC_${code}`)
}

test.afterEach.always((t) => t.deepEqual([ledger().live, ledger({ process: true }).resources], [0, []]))

test.serial('what is recorded here is waited for there', async (t) => {
  await using party = new Party()
  using event = new IPCEvent({ device })
  t.true(event.query(), 'nothing was recorded')
  t.is(ledger().events, 1)
  const bytes = event.toBytes({ name: 'ready' })
  t.like(decode(bytes), { kind: 'event', layout: 'cuda-event', backend: 'cuda', name: 'ready', nbytes: 64 })
  t.true(await party.do<boolean>({ do: 'open', bytes: encode(bytes) }))
  const stream = raw.streamCreate(1)
  raw.sleepOn(stream, LONG)
  event.record(stream)
  t.false(event.query())
  t.false(await party.do<boolean>({ do: 'query' }))
  await refuses(t, party.do({ do: 'wait', bytes: '', timeoutMs: 20 }), 'TIMEOUT')
  t.is(await party.do<number>({ do: 'wait on' }), 600, 'the stream there waits too')
  t.true(await party.do<boolean>({ do: 'wait', bytes: '' }))
  await event.wait()
  t.true(event.query())
  raw.streamDestroy(stream)
  await party.do({ do: 'close' })
  t.deepEqual(await party.do({ do: 'count' }), { live: 0, resources: [] })
})

test.serial('and the other way round; what a dead process had recorded is never done', async (t) => {
  const party = new Party()
  using event = IPCEvent.open(fromText(await party.do<string>({ do: 'make' })), device)
  t.true(event.query())
  t.false(await party.do<boolean>({ do: 'record', sleepMs: 60_000 }))
  t.false(event.query())
  await t.throwsAsync(event.wait({ signal: AbortSignal.timeout(20) }), { name: 'TimeoutError', any: true })
  await party.child.kill()
  await refuses(t, event.wait({ timeoutMs: 300 }), 'TIMEOUT')
  t.false(event.query())
})

test.serial('an export carries an event, and opening waits for it, or gives up with nothing mapped', async (t) => {
  await using party = new Party()
  await party.do({ do: 'make' }) // the device's context takes its time
  await party.do({ do: 'close' })
  for (const ipc of ['legacy', 'fd', 'pool'] as const) {
    using memory = new MemoryUSMDevice(4096, { device, ipc })
    memory.fill(1)
    using event = new IPCEvent({ device })
    const stream = raw.streamCreate(1)
    raw.sleepOn(stream, LONG)
    raw.fillAsync(memory.pointer, 9, 4096, stream)
    event.record(stream)
    using handle = new IPCMemoryHandle(memory, { event })
    t.false(event.query(), 'the export waits for nothing')
    t.is(decode(handle.toBytes()).event?.length, 64)
    const bytes = encode(handle.toBytes())
    await refuses(t, party.do({ do: 'open memory', bytes, timeoutMs: 20 }, handle), 'TIMEOUT')
    t.deepEqual((await party.do<{ live: number }>({ do: 'count' })).live, 0)
    t.is(await party.do<number>({ do: 'open memory', bytes, timeoutMs: 30_000 }, handle), 9)
    using self = IPCMemoryHandle.open(handle.toBytes(), device)
    t.is(self.path, 'self')
    raw.streamDestroy(stream)
  }
})

test.serial('without one the export waits for the device', (t) => {
  using memory = new MemoryUSMDevice(4096, { device })
  const stream = raw.streamCreate(1)
  raw.sleepOn(stream, 200)
  using event = new IPCEvent({ device })
  event.record(stream)
  t.false(event.query())
  using handle = new IPCMemoryHandle(memory)
  t.true(event.query())
  t.is(handle.descriptors.length, 0)
  raw.streamDestroy(stream)
})

test.serial('an event opens in the process that made it, and closes once for all', async (t) => {
  const event = new IPCEvent({ device })
  const bytes = event.toBytes()
  const self = IPCEvent.open(bytes, device)
  const again = IPCEvent.open(bytes, device)
  t.is(ledger({ process: true }).resources.length, 1)
  event.close()
  event.close()
  self.record()
  await again.wait()
  t.true(event.isClosed)
  t.is((t.throws(() => self.toBytes()) as Error & { code: string }).code, 'ERR_USM_IPC_IPC_EVENT')
  t.is((t.throws(() => event.query()) as Error & { code: string }).code, 'ERR_USM_IPC_CLOSED')
  self.close()
  again.close()
  t.is((t.throws(() => IPCEvent.open(bytes, device)) as Error & { code: string }).code, 'ERR_USM_IPC_STALE_HANDLE')
})

test.serial('bad input is refused before the driver sees it', (t) => {
  using event = new IPCEvent({ device })
  using memory = new MemoryUSMDevice(4096, { device })
  using handle = new IPCMemoryHandle(memory)
  const code = (run: () => unknown): string => (t.throws(run, { any: true }) as { code?: string }).code ?? ''
  t.is(code(() => IPCEvent.open(handle.toBytes(), device)), 'ERR_USM_IPC_WRONG_KIND')
  t.is(code(() => IPCMemoryHandle.open(event.toBytes(), device)), 'ERR_USM_IPC_WRONG_KIND')
  t.is(code(() => IPCEvent.open(event.toBytes(), 'host')), 'ERR_USM_IPC_WRONG_BACKEND')
  t.is(code(() => IPCEvent.open(new Uint8Array(10), device)), 'ERR_USM_IPC_NOT_AN_ENVELOPE')
  t.is(code(() => IPCEvent.open(event.toBytes(), device, { requireAuthentication: true })), 'ERR_USM_IPC_UNAUTHENTICATED')
  t.is(code(() => new IPCEvent({ device: 'host' })), 'ERR_USM_IPC_NO_EVENTS')
  t.is(code(() => new IPCEvent({ devise: 'cuda' } as never)), 'ERR_USM_IPC_UNKNOWN_OPTION')
  t.is(code(() => event.record(1 as never)), 'ERR_USM_IPC_INVALID_STREAM')
  t.is(code(() => event.record(-1n)), 'ERR_USM_IPC_INVALID_STREAM')
  t.is(code(() => event.waitOn('0' as never)), 'ERR_USM_IPC_INVALID_STREAM')
  t.is(code(() => event.toBytes({ ttl: -1 })), 'ERR_USM_IPC_INVALID_TTL')
  t.is(code(() => new IPCMemoryHandle(memory, { event: {} as never })), 'ERR_USM_IPC_INVALID_EVENT')
  using host = new MemoryUSMDevice(16, { device: 'host' })
  t.is(code(() => new IPCMemoryHandle(host, { event })), 'ERR_USM_IPC_WRONG_DEVICE')
  const closed = new IPCEvent({ device })
  closed.close()
  t.is(code(() => new IPCMemoryHandle(memory, { event: closed })), 'ERR_USM_IPC_CLOSED')
  t.is(code(() => IPCMemoryHandle.open(handle.toBytes(), device, undefined, { eventTimeoutMs: -1 })), 'ERR_USM_IPC_INVALID_TIMEOUT')
  t.true(listBackends().some(({ backend, available }) => backend === 'cuda' && available))
})
