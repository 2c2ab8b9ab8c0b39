import test from 'ava'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { FdChannel } from '../../host/sharing/fd_channel.ts'
import {
  alive,
  bytes,
  ended,
  node,
  openDescriptors,
  python,
  socketPath,
  startThread,
  tick,
} from './fd_channel_helpers.ts'

test.before(startThread)

const inUse = { code: 'ERR_USM_IPC_ADDRESS_IN_USE', name: 'DriverError', message: /EADDRINUSE/ }

for (const [umask, mode] of [
  [0, 0o600],
  [0o077, 0o600],
  [0, 0o666],
  [0o077, 0o666],
  [0o777, 0o660],
  [0o022, 0],
] as const) {
  test.serial(
    `umask ${umask.toString(8)}: the socket's mode is ${mode.toString(8)}, and nothing else is left in the directory`,
    (t) => {
      const path = socketPath(t)
      const before = process.umask(umask)
      const listener = FdChannel.listen(path, { mode })
      process.umask(before)
      t.is(statSync(path).mode & 0o7777, mode)
      t.is(statSync(path).nlink, 1)
      t.deepEqual(readdirSync(dirname(path)), ['socket'])
      listener.close()
      t.deepEqual(readdirSync(dirname(path)), [])
    },
  )
}

test.serial('0600 is the default', (t) => {
  using listener = FdChannel.listen(socketPath(t))
  t.is(statSync(listener.path).mode & 0o777, 0o600)
})

test.serial('nothing that exists is replaced', async (t) => {
  const path = socketPath(t)
  const listener = FdChannel.listen(path)
  t.throws(() => FdChannel.listen(path), { ...inUse, message: /EADDRINUSE.*another listener/ })
  const accepting = listener.accept()
  const client = await FdChannel.connect(path)
  const server = await accepting
  const file = path + '2'
  writeFileSync(file, 'precious')
  t.throws(() => FdChannel.listen(file), { ...inUse, message: /EADDRINUSE.*no socket/ })
  t.is(readFileSync(file, 'utf8'), 'precious')
  t.deepEqual(readdirSync(dirname(path)).sort(), ['socket', 'socket2'])
  listener.close()
  client.close()
  server.close()
})

test.serial('close removes the name only while it is its own', (t) => {
  const path = socketPath(t)
  const first = FdChannel.listen(path)
  renameSync(path, path + '-moved')
  const second = FdChannel.listen(path)
  first.close()
  first.close()
  t.true(statSync(path).isSocket(), 'the second one is still there')
  second.close()
  t.throws(() => statSync(path), { code: 'ENOENT' })
})

test.serial('paths that no file can have are refused, and failures leave nothing', async (t) => {
  const path = socketPath(t)
  const before = openDescriptors()
  const tooLong = { instanceOf: RangeError, code: 'ERR_USM_IPC_PATH_TOO_LONG' }
  for (const long of [path + 'x'.repeat(250), join(path + 'x'.repeat(250), 'y'), '/' + 'x/'.repeat(2047) + 'xx']) {
    t.throws(() => FdChannel.listen(long), tooLong)
    await t.throwsAsync(FdChannel.connect(long), tooLong)
  }
  await t.throwsAsync(FdChannel.connect('a\0b'), { instanceOf: RangeError, code: 'ERR_USM_IPC_INVALID_PATH' })
  await t.throwsAsync(FdChannel.connect(''), { code: 'ERR_USM_IPC_INVALID_PATH' })
  t.throws(() => FdChannel.listen(''), { instanceOf: TypeError, code: 'ERR_USM_IPC_INVALID_PATH' })
  t.throws(() => FdChannel.listen(path, { mode: 0o1777 }), { instanceOf: RangeError, code: 'ERR_USM_IPC_INVALID_MODE' })
  t.throws(() => FdChannel.listen(join(path, 'nowhere')), { name: 'DriverError', message: /ENOENT.*directory/ })
  t.is(openDescriptors(), before)
  t.deepEqual(readdirSync(dirname(path)), [])
})

// An address holds 107 bytes.
for (const [what, directories, name] of [
  ['the longest path that fits an address', (left: number) => 'd'.repeat(left - 9), 8],
  ['a path that is one byte too long for an address', (left: number) => 'd'.repeat(left - 8), 8],
  ['a long directory', () => Array.from({ length: 10 }, () => 'd'.repeat(200)).join('/'), 10],
  ['the longest name', () => 'd', 255],
  ['a long directory and the longest name', () => Array.from({ length: 15 }, () => 'd'.repeat(200)).join('/'), 255],
] as const) {
  test.serial(`${what} works at both ends, and close removes it`, async (t) => {
    const before = openDescriptors()
    const root = dirname(socketPath(t))
    const directory = join(root, directories(107 - root.length - 1))
    mkdirSync(directory, { recursive: true })
    const path = join(directory, 'n'.repeat(name))
    t.log(`${path.length} bytes`)
    await t.throwsAsync(FdChannel.connect(path), { code: 'ERR_USM_IPC_NO_LISTENER', message: /ENOENT/ })
    for (const replace of [undefined, 'dead'] as const) {
      const listener = FdChannel.listen(path, { mode: 0o640, replace })
      t.is(statSync(path).mode & 0o777, 0o640)
      t.deepEqual(readdirSync(directory), ['n'.repeat(name)])
      t.throws(() => FdChannel.listen(path), inUse)
      const client = await FdChannel.connect(path)
      const server = await listener.accept()
      await client.send(bytes(1))
      t.deepEqual((await server.receive()).bytes, bytes(1))
      client.close()
      server.close()
      listener.close()
      t.deepEqual(readdirSync(directory), [])
    }
    t.is(openDescriptors(), before)
  })
}

test.serial('where /proc is missing, long paths are refused and short ones work', async (t) => {
  if (process.getuid?.() !== 0) {
    t.log('skipped: only root can make a mount namespace')
    t.pass()
    return
  }
  const directory = dirname(socketPath(t))
  const source = `
    const { spawnSync } = await import('node:child_process')
    const { FdChannel } = await import(${JSON.stringify(new URL('../../host/sharing/fd_channel.ts', import.meta.url).href)})
    const warm = FdChannel.listen(${JSON.stringify(join(directory, 'warm'))})
    const long = FdChannel.listen(${JSON.stringify(join(directory, 'x'.repeat(120)))})
    spawnSync('umount', ['--lazy', '/proc'])
    const codes = []
    const short = FdChannel.listen(${JSON.stringify(join(directory, 'short'))})
    const client = await FdChannel.connect(short.path)
    await FdChannel.connect(long.path).catch((error) => codes.push(error.code, error.message.includes('/proc, which')))
    try { FdChannel.listen(${JSON.stringify(join(directory, 'd'.repeat(100), 'y'))}) } catch (error) { codes.push(error.code) }
    try { FdChannel.listen(short.path, { replace: 'dead' }) } catch (error) { codes.push(error.code) }
    console.log(codes.join(' '), client.isClosed, warm.isClosed)`
  mkdirSync(join(directory, 'd'.repeat(100)))
  const child = spawn('unshare', ['--mount', process.execPath, '--import=tsx', '--input-type=module', '--eval', source], {
    cwd: new URL('../..', import.meta.url), stdio: ['ignore', 'pipe', 'inherit'], timeout: 60_000, killSignal: 'SIGKILL',
  })
  t.is((await ended(child)).stdout, 'ERR_USM_IPC_PATH_TOO_LONG true ERR_USM_IPC_PATH_TOO_LONG ERR_USM_IPC_SYSTEM_CALL_FAILED false false\n')
  t.deepEqual(readdirSync(directory), ['d'.repeat(100)])
})

test.serial('connecting to nothing says what to look at', async (t) => {
  const path = socketPath(t)
  await t.throwsAsync(FdChannel.connect(path), { code: 'ERR_USM_IPC_NO_LISTENER', name: 'DriverError', message: /ENOENT.*is the listener running/ })
  const child = python(
    `s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.bind(${JSON.stringify(path)})`,
    'ignore',
  )
  await ended(child)
  await t.throwsAsync(FdChannel.connect(path), { code: 'ERR_USM_IPC_NO_LISTENER', name: 'DriverError', message: /ECONNREFUSED.*nobody listens/ })
  rmSync(path)
  const stream = createServer().listen(path)
  await once(stream, 'listening')
  await t.throwsAsync(FdChannel.connect(path), { name: 'DriverError', message: /EPROTOTYPE.*another type/ })
  stream.close()
})

test.serial('another user is kept out by the mode, and let in by it', async (t) => {
  if (process.getuid?.() !== 0) {
    t.log('skipped: only root can become another user')
    t.pass()
    return
  }
  const path = socketPath(t)
  const connect = `
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try:
  s.connect(${JSON.stringify(path)})
  print('connected', flush=True)
  s.recv(1)
except PermissionError:
  print('refused')`
  const narrow = FdChannel.listen(path)
  t.is((await ended(python(connect, ['ignore', 'pipe', 'inherit'], 65534))).stdout, 'refused\n')
  narrow.close()
  using wide = FdChannel.listen(path, { mode: 0o666 })
  const child = python(connect, ['ignore', 'pipe', 'inherit'], 65534)
  const end = ended(child)
  const server = await wide.accept()
  t.deepEqual(server.peer, { pid: child.pid!, uid: 65534, gid: 65534, overflow: true })
  server.close()
  t.is((await end).stdout, 'connected\n')
})

test.serial("both ends know the other's process", async (t) => {
  using listener = FdChannel.listen(socketPath(t))
  const child = node(`const channel = await FdChannel.connect(${JSON.stringify(listener.path)})
    await channel.send(new TextEncoder().encode(JSON.stringify(channel.peer)))`)
  const server = await listener.accept()
  const seen = JSON.parse(new TextDecoder().decode((await server.receive()).bytes))
  t.deepEqual(seen, { pid: process.pid, uid: process.getuid!(), gid: process.getgid!(), overflow: false })
  t.deepEqual(server.peer, { pid: child.pid!, uid: process.getuid!(), gid: process.getgid!(), overflow: false })
  t.true(Object.isFrozen(server.peer))
  await ended(child)
  server.close()
})

test.serial('accept: deadlines, signals, close', async (t) => {
  const listener = FdChannel.listen(socketPath(t))
  await t.throwsAsync(listener.accept({ timeoutMs: 0 }), { code: 'ERR_USM_IPC_TIMEOUT' })
  await t.throwsAsync(listener.accept({ timeoutMs: 2 }), { code: 'ERR_USM_IPC_TIMEOUT' })
  const controller = new AbortController()
  const aborted = listener.accept({ signal: controller.signal })
  const pending = listener.accept()
  controller.abort('enough')
  t.is(await aborted.catch((reason) => reason), 'enough')
  await t.throwsAsync(listener.accept({ patience: 1 } as never), { code: 'ERR_USM_IPC_UNKNOWN_OPTION' })
  await listener[Symbol.asyncDispose]()
  t.true(listener.isClosed)
  await t.throwsAsync(pending, { code: 'ERR_USM_IPC_CLOSED' })
  await t.throwsAsync(listener.accept(), { code: 'ERR_USM_IPC_CLOSED' })
})

test.serial('iterating gives every connection, and ends with the listener', async (t) => {
  const listener = FdChannel.listen(socketPath(t))
  const clients = await Promise.all([1, 2, 3].map(() => FdChannel.connect(listener.path)))
  let served = 0
  for await (const channel of listener) {
    channel.close()
    if (++served === clients.length) void tick().then(() => listener.close())
  }
  t.is(served, 3)
  for (const client of clients) client.close()
})

test.serial('a full backlog makes connect wait, time out, or be aborted, and nothing is left', async (t) => {
  const path = socketPath(t)
  const child = python(
    `s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.bind(${JSON.stringify(path)})
s.listen(1); print('up', flush=True)
sys.stdin.readline()
while True: s.accept()[0].send(b'x')`,
    ['pipe', 'pipe', 'inherit'],
  )
  await new Promise((resolve) => child.stdout!.once('data', resolve))
  const before = openDescriptors()
  const clients: FdChannel[] = []
  const full = await (async () => {
    for (;;) {
      try {
        clients.push(await FdChannel.connect(path, { timeoutMs: 0 }))
      } catch (error) {
        return error as { code: string; message: string }
      }
    }
  })()
  t.is(full.code, 'ERR_USM_IPC_TIMEOUT')
  t.regex(full.message, /backlog/)
  await t.throwsAsync(FdChannel.connect(path, { timeoutMs: 25 }), { code: 'ERR_USM_IPC_TIMEOUT' })
  const controller = new AbortController()
  const aborted = FdChannel.connect(path, { signal: controller.signal })
  controller.abort('enough')
  t.is(await aborted.catch((reason) => reason), 'enough')
  t.is(openDescriptors(), before + clients.length)
  const waiting = FdChannel.connect(path)
  child.stdin!.write('\n')
  clients.push(await waiting)
  t.deepEqual((await clients.at(-1)!.receive()).bytes, bytes(0x78))
  for (const client of clients) client.close()
  child.kill('SIGKILL')
  await ended(child)
})

test.serial('a listener out of descriptor numbers accepts again when it has some', async (t) => {
  const path = socketPath(t)
  const child = node(
    `import { openSync, closeSync } from 'node:fs'
     const listener = FdChannel.listen(${JSON.stringify(path)})
     await listener.accept({ timeoutMs: 1 }).catch(() => {})
     const fillers = []
     try { for (;;) fillers.push(openSync('/dev/null')) } catch {}
     process.send('full')
     await new Promise((resolve) => process.once('message', resolve))
     const error = await listener.accept({ timeoutMs: 0 }).catch((error) => error)
     const late = await listener.accept({ timeoutMs: 20 }).catch((error) => error)
     const accepting = listener.accept()
     fillers.forEach((fd) => closeSync(fd))
     const channel = await accepting
     await channel.send(new TextEncoder().encode(error.result + ' ' + late.result))
     process.disconnect()`,
    ['ignore', 'inherit', 'inherit', 'ipc'],
    'ulimit -n 64',
  )
  const end = ended(child)
  await alive(new Promise((resolve) => child.once('message', resolve)))
  const channel = await FdChannel.connect(path)
  child.send('go')
  t.is(new TextDecoder().decode((await channel.receive()).bytes), 'EMFILE EMFILE')
  channel.close()
  t.is((await end).code, 0)
})
