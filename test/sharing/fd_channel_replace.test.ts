// `replace: 'dead'`: a socket that nobody answers on gives way, nothing else does, and one of many takes its place.
import test, { type ExecutionContext } from 'ava'
import { once } from 'node:events'
import { chownSync, lstatSync, mkdirSync, readFileSync, readdirSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { addon } from '../../host/addon.ts'
import { FdChannel } from '../../host/sharing/fd_channel.ts'
import { alive, bytes, ended, node, openDescriptors, python, socketPath, startThread } from './fd_channel_helpers.ts'

test.before(startThread)

const inUse = { code: 'ERR_USM_IPC_ADDRESS_IN_USE', name: 'DriverError' }
const dead = { replace: 'dead' } as const

/** Leaves a dead socket at each path. */
async function bury(...paths: string[]): Promise<void> {
  const child = python(
    `for path in ${JSON.stringify(paths)}: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(path)`,
    'ignore',
  )
  if ((await ended(child)).code !== 0) throw new Error('python could not bind')
}

/** A program whose listener is up when this resolves; it ends with the test. */
async function listening(t: ExecutionContext, path: string, then: string, backlog = 8) {
  const child = python(
    `s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.bind(${JSON.stringify(path)}); s.listen(${backlog})
${then}
print('up', flush=True)
sys.stdin.read()`,
    ['pipe', 'pipe', 'inherit'],
  )
  t.teardown(() => child.kill('SIGKILL'))
  const end = ended(child)
  await once(child.stdout!, 'data')
  return { child, end }
}

/** Whether the listener at the path is this one. */
async function assertServes(t: ExecutionContext, path: string, pid: number): Promise<void> {
  const channel = await FdChannel.connect(path, { timeoutMs: 10_000 })
  t.is(channel.peer.pid, pid)
  channel.close()
}

test.serial('a dead socket is replaced, by one with the mode that was asked for, and nothing else is left', async (t) => {
  const path = socketPath(t)
  await bury(path)
  const before = openDescriptors()
  t.throws(() => FdChannel.listen(path), { ...inUse, message: /replace: 'dead'/ })
  const old = statSync(path).ino
  const listener = FdChannel.listen(path, { ...dead, mode: 0o620 })
  t.not(statSync(path).ino, old)
  t.is(statSync(path).mode & 0o7777, 0o620)
  t.deepEqual(readdirSync(dirname(path)), ['socket'])
  await assertServes(t, path, process.pid)
  listener.close()
  t.deepEqual(readdirSync(dirname(path)), [])
  t.is(openDescriptors(), before)
})

test.serial('where there is nothing, the option changes nothing', async (t) => {
  const path = socketPath(t)
  using listener = FdChannel.listen(path, dead)
  await assertServes(t, path, process.pid)
  t.throws(() => FdChannel.listen(path, dead), { ...inUse, message: /running/ })
  t.is(listener.isClosed, false)
  t.deepEqual(readdirSync(dirname(path)), ['socket'])
})

test.serial('a killed process gives way; one that lives, serves, is stopped or is busy does not', async (t) => {
  const path = socketPath(t)
  const { child, end } = await listening(t, path, '', 0)
  const { ino } = statSync(path)
  t.throws(() => FdChannel.listen(path, dead), { ...inUse, message: /running/ })
  child.kill('SIGSTOP')
  // Each look takes a place in its backlog, which is full in the end.
  for (let i = 0; i < 4; i++) t.throws(() => FdChannel.listen(path, dead), inUse)
  t.is(statSync(path).ino, ino)
  child.kill('SIGKILL')
  await end
  const listener = FdChannel.listen(path, dead)
  await assertServes(t, path, process.pid)
  listener.close()
})

for (const way of ['by the socket', 'by its pid']) {
  test.serial(`${way}: a child that holds a dead process's listener does not keep the name`, async (t) => {
    const { setFault } = addon()
    if (way !== 'by the socket' && setFault === undefined) {
      t.log('skipped: this build has no fault points')
      t.pass()
      return
    }
    const path = socketPath(t)
    const { child, end } = await listening(t, path, `
child = os.fork()
if child == 0:
  os.close(1)
  import time
  time.sleep(60)
print(child, flush=True)`)
    const fork = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'))
    t.teardown(() => process.kill(fork, 'SIGKILL'))
    t.throws(() => FdChannel.listen(path, dead), inUse)
    child.kill('SIGKILL')
    await end
    const orphan = await FdChannel.connect(path)
    t.is(orphan.peer.pid, child.pid!, 'the connection is made all the same')
    orphan.close()
    if (way !== 'by the socket') setFault!('channel.peerpidfd', 1)
    const listener = FdChannel.listen(path, dead)
    await assertServes(t, path, process.pid)
    listener.close()
    t.deepEqual(readdirSync(dirname(path)), [])
  })
}

test.serial('what is no socket of this user\'s is refused by name and stays as it is', async (t) => {
  const path = socketPath(t)
  const beside = (name: string): string => join(dirname(path), name)
  await bury(path, beside('foreign'))
  writeFileSync(beside('file'), 'precious')
  mkdirSync(beside('directory'))
  symlinkSync(path, beside('link'))
  symlinkSync(beside('nothing'), beside('dangling'))
  const noSocket = { code: 'ERR_USM_IPC_NOT_A_SOCKET', name: 'DriverError', message: /no socket/ }
  for (const name of ['file', 'directory', 'link', 'dangling']) {
    const before = lstatSync(beside(name))
    t.throws(() => FdChannel.listen(beside(name), dead), noSocket, name)
    t.deepEqual([lstatSync(beside(name)).ino, lstatSync(beside(name)).mode], [before.ino, before.mode])
  }
  t.is(readFileSync(beside('file'), 'utf8'), 'precious')
  t.is(readlinkSync(beside('link')), path)
  if (process.getuid?.() === 0) {
    chownSync(beside('foreign'), 65534, 65534)
    const { ino } = statSync(beside('foreign'))
    t.throws(() => FdChannel.listen(beside('foreign'), dead), { code: 'ERR_USM_IPC_FOREIGN_SOCKET', message: /user 65534/ })
    t.is(statSync(beside('foreign')).ino, ino)
  } else {
    t.log('left out: only root can give a file away')
  }
  const stream = createServer().listen(beside('stream'))
  await once(stream, 'listening')
  t.throws(() => FdChannel.listen(beside('stream'), dead), inUse, 'a listener of another type')
  stream.close()
  for (const wrong of ['all', true, null]) {
    t.throws(() => FdChannel.listen(path, { replace: wrong as never }), { instanceOf: TypeError, code: 'ERR_USM_IPC_INVALID_REPLACE' })
  }
  t.deepEqual(readdirSync(dirname(path)).sort(), ['dangling', 'directory', 'file', 'foreign', 'link', 'socket'])
})

test.serial('a lock that another process holds is waited for, but not for ever', async (t) => {
  const path = socketPath(t)
  await bury(path)
  const hold = async (seconds: number) => {
    const child = python(
      `import fcntl, time
fd = os.open(${JSON.stringify(dirname(path))}, os.O_RDONLY)
fcntl.flock(fd, fcntl.LOCK_EX)
print('held', flush=True)
time.sleep(${seconds})`,
      ['ignore', 'pipe', 'inherit'],
    )
    t.teardown(() => child.kill('SIGKILL'))
    const end = ended(child)
    await once(child.stdout!, 'data')
    return { child, end }
  }
  const short = await hold(0.2)
  FdChannel.listen(path, dead).close()
  t.is((await short.end).code, 0)
  await bury(path)
  const long = await hold(60)
  t.throws(() => FdChannel.listen(path, dead), { code: 'ERR_USM_IPC_DIRECTORY_LOCKED', message: /flock.*two seconds/ })
  FdChannel.listen(path + '2').close() // needs no lock
  long.child.kill('SIGKILL')
  await long.end
  FdChannel.listen(path, dead).close()
  t.deepEqual(readdirSync(dirname(path)), [])
})

test.serial('temporary names of processes that died are removed; those of others are not', async (t) => {
  const path = socketPath(t)
  const space = statSync('/proc/self/ns/pid').ino
  const gone = python('pass', 'ignore')
  await ended(gone)
  const name = (pid: number, namespace: number, rest = 'deadbeef'): string => `.usm-ipc-${pid}-${namespace}-${rest}`
  const stale = [name(gone.pid!, space), name(gone.pid!, space, '00000001')]
  const kept = [name(process.pid, space), name(gone.pid!, space + 1), name(gone.pid!, space, 'deadbeef0'), `x${name(gone.pid!, space)}`]
  await bury(...[...stale, ...kept].map((entry) => join(dirname(path), entry)))
  const file = name(gone.pid!, space, '12345678')
  writeFileSync(join(dirname(path), file), '')
  FdChannel.listen(path).close()
  t.is(readdirSync(dirname(path)).length, 7, 'not without the lock')
  FdChannel.listen(path, dead).close()
  t.deepEqual(readdirSync(dirname(path)).sort(), [...kept, file].sort())
})

for (const point of ['mode', 'place', 'probe', 'replace', 'replaced']) {
  test.serial(`a failure, or a crash, at channel.${point} leaves nothing that the next one does not put right`, async (t) => {
    const { setFault } = addon()
    if (setFault === undefined) {
      t.log('skipped: this build has no fault points')
      t.pass()
      return
    }
    const path = socketPath(t)
    await bury(path)
    const before = openDescriptors()
    setFault(`channel.${point}`, 1)
    t.throws(() => FdChannel.listen(path, dead), { code: 'ERR_USM_IPC_INJECTED' })
    t.is(openDescriptors(), before)
    t.deepEqual(readdirSync(dirname(path)), ['socket'])
    const child = node(
      `const { addon } = await import(${JSON.stringify(new URL('../../host/addon.ts', import.meta.url).href)})
       addon().setFault('channel.${point}', 1, true)
       FdChannel.listen(${JSON.stringify(path)}, { replace: 'dead' })`,
      'inherit',
    )
    t.is((await ended(child)).signal, 'SIGKILL')
    t.is(readdirSync(dirname(path)).length, 2, 'the name, and the temporary one')
    const listener = FdChannel.listen(path, dead)
    t.deepEqual(readdirSync(dirname(path)), ['socket'])
    await assertServes(t, path, process.pid)
    listener.close()
    t.deepEqual(readdirSync(dirname(path)), [])
  })
}

/** Processes that listen where they are told to, all at once. */
async function racers(t: ExecutionContext, count: number) {
  const all = Array.from({ length: count }, () => {
    const child = node(
      `import { createInterface } from 'node:readline'
       const open = []
       console.log('ready')
       for await (const line of createInterface(process.stdin)) {
         if (line === '') { for (const listener of open.splice(0)) listener.close(); console.log('closed'); continue }
         const [path, at] = line.split(' ')
         while (Date.now() < Number(at)) {}
         try { open.push(FdChannel.listen(path, { replace: 'dead' })); console.log('won') } catch (error) { console.log(error.code) }
       }`,
      ['pipe', 'pipe', 'inherit'],
    )
    t.teardown(() => child.kill('SIGKILL'))
    const lines = createInterface(child.stdout!)[Symbol.asyncIterator]()
    const next = async (): Promise<string> => (await lines.next()).value as string
    return { child, next, tell: (line: string) => void child.stdin!.write(`${line}\n`) }
  })
  for (const one of all) await one.next()
  return all
}

test.serial('of many processes that race for one dead socket, exactly one wins, and keeps it', async (t) => {
  const path = socketPath(t)
  const count = 12
  const all = await racers(t, count)
  const paths = Array.from({ length: 25 }, (_, i) => `${path}${i}`)
  await bury(...paths)
  const [extra] = paths.slice(-1)
  rmSync(extra!) // one of them is free instead
  for (const one of paths) {
    const at = Date.now() + 10
    for (const racer of all) racer.tell(`${one} ${at}`)
    const results = await Promise.all(all.map((racer) => racer.next()))
    t.is(results.filter((result) => result === 'won').length, 1, results.join(' '))
    t.is(results.filter((result) => result === 'ERR_USM_IPC_ADDRESS_IN_USE').length, count - 1, results.join(' '))
    const winner = all[results.indexOf('won')]!
    await assertServes(t, one, winner.child.pid!)
  }
  t.deepEqual(readdirSync(dirname(path)).sort(), paths.map((one) => one.slice(dirname(path).length + 1)).sort())
  for (const racer of all) racer.tell('')
  for (const racer of all) t.is(await racer.next(), 'closed')
  t.deepEqual(readdirSync(dirname(path)), [], 'each removed its own, and nobody another\'s')
  for (const racer of all) racer.child.stdin!.end()
})

test.serial('one killed winner after the other: the rest race for what it left', async (t) => {
  const path = socketPath(t)
  const all = await racers(t, 8)
  while (all.length > 0) {
    const at = Date.now() + 10
    for (const racer of all) racer.tell(`${path} ${at}`)
    const results = await Promise.all(all.map((racer) => racer.next()))
    t.is(results.filter((result) => result === 'won').length, 1, results.join(' '))
    const [winner] = all.splice(results.indexOf('won'), 1)
    await assertServes(t, path, winner!.child.pid!)
    t.deepEqual(readdirSync(dirname(path)), ['socket'])
    const gone = once(winner!.child, 'exit')
    winner!.child.kill('SIGKILL')
    await alive(gone)
  }
  using listener = FdChannel.listen(path, dead)
  const client = await FdChannel.connect(path)
  const server = await listener.accept()
  await client.send(bytes(1))
  t.deepEqual((await server.receive()).bytes, bytes(1))
  client.close()
  server.close()
})
