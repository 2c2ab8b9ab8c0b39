/** What PyTorch shares: its counter file is made here as it makes one (a 64-byte head, then 64-bit numbers). */
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import test from 'ava'
import { IPCEvent, IPCMemoryHandle, MemoryUSMDevice, decode, ledger } from '../../host/index.ts'
import { cudaBackend } from '../support/backends.ts'
import { decode as fromText, encode, hear, say, startChild, type Child } from '../support/child.ts'
import type { Answer, Request } from './children/torch_party.ts'

cudaBackend('legacy')
const device = 'cuda'
const HEAD = 64
/** In each of PyTorch's files. */
const COUNTERS = 10_000
let files = 0
const made: string[] = []
test.after.always(() => made.forEach((name) => rmSync(`/dev/shm${name}`, { force: true })))

function counterFile(...counters: bigint[]): string {
  const name = `/torch_${process.pid}_${Math.floor(Math.random() * 1e9)}_${files++}`
  made.push(name)
  const bytes = new DataView(new ArrayBuffer(HEAD + 8 * COUNTERS))
  bytes.setInt32(0, 1, true)
  counters.forEach((count, i) => bytes.setBigInt64(HEAD + 8 * i, count, true))
  writeFileSync(`/dev/shm${name}`, new Uint8Array(bytes.buffer))
  return name
}

/** How many have the file mapped, and its first two counters. */
function counters(name: string): [users: number, bigint, bigint] {
  const bytes = readFileSync(`/dev/shm${name}`)
  return [bytes.readInt32LE(0), bytes.readBigInt64LE(HEAD), bytes.readBigInt64LE(HEAD + 8)]
}

async function ask(child: Child, request: Request): Promise<Answer> {
  await say(child.channel, request)
  return hear<Answer>(child.channel)
}

test.serial('a share is read at its offset, and its counter counted down once', async (t) => {
  using memory = new MemoryUSMDevice(8192, { device })
  memory.copyFrom(Uint8Array.from({ length: 8192 }, (_, i) => i * 3))
  using handle = new IPCMemoryHandle(memory)
  const torch = encode(handle.toBytes({ format: 'vendor', layout: 'torch-cuda' }))
  const child = startChild(new URL('children/torch_party.ts', import.meta.url), { execArgv: ['--expose-gc'] })
  for (const asTuple of [false, true]) {
    const name = counterFile(5n, 2n)
    const opened = await ask(child, { do: 'open', handle: torch, nbytes: 100, offset: 4096, counter: [name, 1], asTuple })
    t.is(opened.error, undefined)
    t.deepEqual(fromText(opened.bytes!), Uint8Array.from({ length: 100 }, (_, i) => (4096 + i) * 3))
    t.deepEqual(counters(name), [1, 5n, 2n])
    t.deepEqual(await ask(child, { do: 'close' }), { live: 0 })
    t.deepEqual(counters(name), [1, 5n, 1n])
  }
  // Collected instead of closed.
  const name = counterFile(1n)
  await ask(child, { do: 'open', handle: torch, nbytes: 100, offset: 0, counter: [name, 0] })
  for (let i = 0; i < 100 && counters(name)[1] !== 0n; i++) {
    await ask(child, { do: 'drop' })
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  t.deepEqual(counters(name), [1, 0n, 0n])
  await child.kill()
})

test.serial('a producer\'s event is waited for; its counters may be gone before its consumer', async (t) => {
  using memory = new MemoryUSMDevice(4096, { device })
  memory.fill(4)
  using handle = new IPCMemoryHandle(memory)
  using event = new IPCEvent({ device })
  event.record()
  const torch = encode(handle.toBytes({ format: 'vendor', layout: 'torch-cuda' }))
  const child = startChild(new URL('children/torch_party.ts', import.meta.url))
  const name = counterFile(1n)
  const opened = await ask(child, { do: 'open', handle: torch, nbytes: 10, offset: 0, counter: [name, 0], event: encode(decode(event.toBytes()).handle) })
  t.deepEqual(fromText(opened.bytes!), new Uint8Array(10).fill(4))
  rmSync(`/dev/shm${name}`)
  t.deepEqual(await ask(child, { do: 'close' }), { live: 0 })
  t.false(existsSync(`/dev/shm${name}`))
  const without = await ask(child, { do: 'open', handle: torch, nbytes: 10, offset: 0, counter: [name, 0] })
  t.is(without.error, 'ERR_USM_IPC_EXPORTER_GONE')
  const bad = await ask(child, { do: 'open', handle: torch, nbytes: 10, offset: 0, counter: [counterFile(1n), 0], event: encode(new Uint8Array(64).fill(9)) })
  t.is(bad.error, 'ERR_USM_IPC_DRIVER_CALL_FAILED')
  t.deepEqual(await ask(child, { do: 'close' }), { live: 0 })
  await child.kill()
})

test.serial('a share that was given back is stale; one that is open twice is counted down once, after the last', async (t) => {
  using memory = new MemoryUSMDevice(4096, { device })
  using handle = new IPCMemoryHandle(memory)
  const torch = encode(handle.toBytes({ format: 'vendor', layout: 'torch-cuda' }))
  const child = startChild(new URL('children/torch_party.ts', import.meta.url))
  const name = counterFile(1n)
  const open: Request = { do: 'open', handle: torch, nbytes: 10, offset: 0, counter: [name, 0] }
  t.is((await ask(child, open)).error, undefined)
  t.deepEqual(await ask(child, { do: 'close' }), { live: 0 })
  t.deepEqual(counters(name), [1, 0n, 0n])
  t.is((await ask(child, open)).error, 'ERR_USM_IPC_STALE_HANDLE')
  t.deepEqual(counters(name), [1, 0n, 0n])
  // Not closed: its end gives it back.
  const other = counterFile(1n)
  t.is((await ask(child, { ...open, counter: [other, 0] })).error, undefined)
  await ask(child, { do: 'exit' }).catch(() => {})
  await child.exited
  t.deepEqual(counters(other), [1, 0n, 0n])
  await child.kill()
})

test.serial('what is no counter of PyTorch\'s is refused before anything is opened', async (t) => {
  using memory = new MemoryUSMDevice(4096, { device })
  using handle = new IPCMemoryHandle(memory)
  const torch = encode(handle.toBytes({ format: 'vendor', layout: 'torch-cuda' }))
  const name = counterFile(1n)
  const link = `/torch_${process.pid}_1_${files++}`
  const short = `/torch_${process.pid}_2_${files++}`
  made.push(link, short)
  writeFileSync(`/dev/shm${short}`, new Uint8Array(HEAD))
  symlinkSync(`/dev/shm${name}`, `/dev/shm${link}`)
  const child = startChild(new URL('children/torch_party.ts', import.meta.url))
  const code = async (counter: [string, number], more: Partial<Request> = {}): Promise<string | undefined> =>
    (await ask(child, { do: 'open', handle: torch, nbytes: 10, offset: 0, counter, ...more })).error
  for (const bad of ['', '/', '/..', '/.', 'torch', '/a/b', '/../etc/passwd', '/torch_1/../2', '/torch_\0', `/torch_${'1'.repeat(300)}`]) t.is(await code([bad, 0]), 'ERR_USM_IPC_INVALID_REF_COUNTER', bad)
  for (const index of [COUNTERS, 2 ** 40, -1, 0.5]) t.is(await code([name, index]), 'ERR_USM_IPC_INVALID_REF_COUNTER', String(index))
  t.is(await code([link, 0]), 'ERR_USM_IPC_BAD_REF_COUNTER')
  t.is(await code([short, 0]), 'ERR_USM_IPC_BAD_REF_COUNTER')
  t.is(await code([name, 0], { nbytes: 0 }), 'ERR_USM_IPC_INVALID_NBYTES')
  t.is(await code([name, 0], { offset: -4 }), 'ERR_USM_IPC_INVALID_OFFSET')
  t.is(await code([name, 0], { handle: encode(new Uint8Array(66)) }), 'ERR_USM_IPC_HANDLE_UNKNOWN_VERSION')
  t.is(await code([name, 0], { event: encode(new Uint8Array(3)) }), 'ERR_USM_IPC_BAD_HANDLE_LENGTH')
  t.deepEqual(counters(name), [1, 1n, 0n])
  await child.kill()
})
test.afterEach.always((t) => t.is(ledger().live, 0))
