/** What PyTorch shares: its counter file is made here as it makes one (a 64-byte head, then 64-bit numbers). */
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import test from 'ava'
import { IPCEvent, IPCMemoryHandle, MemoryUSMDevice, decode, ledger } from '../../host/index.ts'
import { addon } from '../../host/addon.ts'
import { cudaBackend } from '../support/backends.ts'
import { decode as fromText, encode, hear, say, startChild, type Child } from '../support/child.ts'
import type { Answer, Request } from './children/torch_party.ts'

cudaBackend('legacy')
const device = 'cuda'
const HEAD = 64
let files = 0
const made: string[] = []
test.after.always(() => made.forEach((name) => rmSync(`/dev/shm${name}`, { force: true })))

function counterFile(...counters: bigint[]): string {
  const name = `/torch_${process.pid}_test_${files++}`
  made.push(name)
  const bytes = new DataView(new ArrayBuffer(HEAD + 8 * counters.length))
  bytes.setInt32(0, 1, true)
  counters.forEach((count, i) => bytes.setBigInt64(HEAD + 8 * i, count, true))
  writeFileSync(`/dev/shm${name}`, new Uint8Array(bytes.buffer))
  return name
}

function counters(name: string): [users: number, ...counts: bigint[]] {
  const bytes = readFileSync(`/dev/shm${name}`)
  return [bytes.readInt32LE(0), ...Array.from({ length: (bytes.length - HEAD) / 8 }, (_, i) => bytes.readBigInt64LE(HEAD + 8 * i))]
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
  t.deepEqual(counters(name), [1, 0n])
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
  t.is(without.error, undefined, 'the producer may have ended')
  const bad = await ask(child, { do: 'open', handle: torch, nbytes: 10, offset: 0, counter: [counterFile(1n), 0], event: encode(new Uint8Array(64).fill(9)) })
  t.is(bad.error, 'ERR_USM_IPC_DRIVER_CALL_FAILED')
  t.deepEqual(await ask(child, { do: 'close' }), { live: 0 })
  await child.kill()
})

test.serial('a counter never goes below zero; who is last removes the file', (t) => {
  const { torchCountDown, torchCounter } = addon()
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
  const name = counterFile(1n)
  t.true(torchCounter(bytes(name), 0))
  t.true(torchCountDown(bytes(name), 0))
  t.true(torchCountDown(bytes(name), 0))
  t.deepEqual(counters(name), [1, 0n])
  const file = readFileSync(`/dev/shm${name}`)
  file.writeInt32LE(0, 0)
  writeFileSync(`/dev/shm${name}`, file)
  t.true(torchCountDown(bytes(name), 0))
  t.false(existsSync(`/dev/shm${name}`))
  t.false(torchCountDown(bytes(name), 0))
  t.false(torchCounter(bytes(name), 0))
})

test.serial('what is no counter of PyTorch\'s is refused before anything is opened', async (t) => {
  using memory = new MemoryUSMDevice(4096, { device })
  using handle = new IPCMemoryHandle(memory)
  const torch = encode(handle.toBytes({ format: 'vendor', layout: 'torch-cuda' }))
  const name = counterFile(1n)
  const link = `/torch_${process.pid}_link`
  made.push(link)
  symlinkSync(`/dev/shm${name}`, `/dev/shm${link}`)
  const child = startChild(new URL('children/torch_party.ts', import.meta.url))
  const code = async (counter: [string, number], more: Partial<Request> = {}): Promise<string | undefined> =>
    (await ask(child, { do: 'open', handle: torch, nbytes: 10, offset: 0, counter, ...more })).error
  for (const bad of ['', '/', '/..', '/.', 'torch', '/a/b', '/../etc/passwd', '/\0', `/${'x'.repeat(300)}`, link]) t.is(await code([bad, 0]), 'ERR_USM_IPC_BAD_REF_COUNTER', bad)
  for (const index of [1, 1000, 2 ** 40]) t.is(await code([name, index]), 'ERR_USM_IPC_BAD_REF_COUNTER', String(index))
  t.is(await code([name, -1]), 'ERR_USM_IPC_INVALID_ARGUMENT')
  t.is(await code([name, 0], { nbytes: 0 }), 'ERR_USM_IPC_INVALID_NBYTES')
  t.is(await code([name, 0], { offset: -4 }), 'ERR_USM_IPC_INVALID_OFFSET')
  t.is(await code([name, 0], { handle: encode(new Uint8Array(66)) }), 'ERR_USM_IPC_HANDLE_UNKNOWN_VERSION')
  t.is(await code([name, 0], { event: encode(new Uint8Array(3)) }), 'ERR_USM_IPC_INVALID_EVENT')
  t.deepEqual(counters(name), [1, 1n])
  await child.kill()
})
test.afterEach.always((t) => t.is(ledger().live, 0))
