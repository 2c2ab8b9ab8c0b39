// `peerExited`: the process at the other end, whoever else holds its socket.
import test, { type ExecutionContext } from 'ava'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { addon } from '../../host/addon.ts'
import { FdChannel } from '../../host/sharing/fd_channel.ts'
import { alive, bytes, ended, node, openDescriptors, python, socketPath, startThread } from './fd_channel_helpers.ts'

test.before(startThread)

const { setFault } = addon()
/** Kernels without SO_PEERPIDFD, which this one is made to look like, look the process up by its pid. */
const ways = [['by the socket', () => {}]] as [string, () => void][]
if (setFault === undefined) {
  test('the peer by its pid', (t) => {
    t.log('skipped: this build has no fault points')
    t.pass()
  })
} else {
  ways.push(['by its pid', () => setFault('channel.peerpidfd', 1)])
}

/** Descriptors of processes that this one has. */
const held = (): number =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === 'anon_inode:[pidfd]'
    } catch {
      return false
    }
  }).length

const undecided = <T>(promise: Promise<T>): Promise<T | 'pending'> => Promise.race([promise, sleep(20, 'pending' as const)])

/** A client whose child inherits the connection; both end with the test. */
async function clientWithChild(t: ExecutionContext, path: string): Promise<{ client: ChildProcess; child: number }> {
  const client = python(
    `import subprocess
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(${JSON.stringify(path)})
child = subprocess.Popen(['sleep', '60'], stdin=s, stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
sys.stdin.read()`,
    ['pipe', 'pipe', 'inherit'],
  )
  const child = Number((await once(client.stdout!, 'data'))[0])
  t.teardown(() => {
    client.kill('SIGKILL')
    try {
      process.kill(child, 'SIGKILL')
    } catch {
      // it has ended
    }
  })
  return { client, child }
}

for (const [way, prepare] of ways) {
  test.serial(`${way}: a killed client is seen while its child holds the connection`, async (t) => {
    const before = openDescriptors()
    const listener = FdChannel.listen(socketPath(t))
    const { client, child } = await clientWithChild(t, listener.path)
    const server = await listener.accept()
    t.is(held(), 0, 'who does not ask pays nothing')
    prepare()
    const { peerExited, hangup } = server
    t.is(server.peerExited, peerExited)
    t.is(held(), 1)
    t.is(await undecided(peerExited), 'pending')
    const end = ended(client)
    client.kill('SIGKILL')
    t.is(await alive(peerExited), 'exited')
    t.is(held(), 0, 'the hold on the process ends with it')
    t.is(await undecided(hangup.then(() => 'hung up')), 'pending', 'the child still has the other end')
    t.false(server.isClosed)
    await server.send(bytes(1))
    process.kill(child, 'SIGKILL')
    await alive(hangup)
    await end
    server.close()
    listener.close()
    t.is(openDescriptors(), before)
  })

  test.serial(`${way}: a process that was gone before anybody asked has exited`, async (t) => {
    using listener = FdChannel.listen(socketPath(t))
    const { client } = await clientWithChild(t, listener.path)
    using server = await listener.accept()
    client.kill('SIGKILL')
    await ended(client)
    const before = openDescriptors()
    prepare()
    t.is(await alive(server.peerExited), 'exited')
    t.is(openDescriptors(), before)
  })

  test.serial(`${way}: this end's close ends the watch`, async (t) => {
    const before = openDescriptors()
    const [here, there] = FdChannel.pair()
    prepare()
    const { peerExited } = here
    t.is(openDescriptors(), before + 3)
    here.close()
    t.is(openDescriptors(), before + 1)
    t.is(await alive(peerExited), 'closed')
    there.close()
    t.is(await alive(there.peerExited), 'closed')
    t.is(openDescriptors(), before)
  })
}

test.serial('a client sees the exit of the process that listens, a child of which still answers', async (t) => {
  const path = socketPath(t)
  const server = python(
    `s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(${JSON.stringify(path)})
s.listen()
pid = os.fork()
if pid == 0:
  c = s.accept()[0]
  c.send(b'x')
  c.recv(1)
  os._exit(0)
print('up', flush=True)
sys.stdin.read()`,
    ['pipe', 'pipe', 'inherit'],
  )
  t.teardown(() => server.kill('SIGKILL'))
  await once(server.stdout!, 'data')
  using client = await FdChannel.connect(path)
  t.is(client.peer.pid, server.pid!)
  await client.receive()
  const { peerExited, hangup } = client
  t.is(await undecided(peerExited), 'pending')
  server.kill('SIGKILL')
  t.is(await alive(peerExited), 'exited')
  t.is(await undecided(hangup.then(() => 'hung up')), 'pending')
  await client.send(bytes(1))
  await alive(hangup)
})

test.serial('a hold that cannot be taken is an error, and the next one tries again', async (t) => {
  const [here, there] = FdChannel.pair()
  const child = node(
    `import { openSync, closeSync } from 'node:fs'
     const channel = FdChannel.adopt(3)
     await channel.receive({ timeoutMs: 1 }).catch(() => {})
     const fillers = []
     try { for (;;) fillers.push(openSync('/dev/null')) } catch {}
     const error = await channel.peerExited.catch((error) => error)
     fillers.forEach((fd) => closeSync(fd))
     console.log(error.code, error.result)
     console.log(await Promise.race([channel.peerExited, 'watched']))
     channel.close()`,
    ['ignore', 'pipe', 'inherit', there.fd],
    'ulimit -n 64',
  )
  there.close()
  t.deepEqual(await ended(child), { code: 0, signal: null, stdout: 'ERR_USM_IPC_SYSTEM_CALL_FAILED EMFILE\nwatched\n', stderr: '' })
  here.close()
})

test.serial('a watch keeps the process alive, unless unref() says otherwise', async (t) => {
  const { code, stdout } = await ended(
    node(`const idle = FdChannel.pair()
      idle[0].unref().peerExited.then(() => {})
      const [here] = FdChannel.pair()
      here.peerExited.then((how) => console.log(how))
      setTimeout(() => here.close(), 30).unref()`),
  )
  t.is(stdout, 'closed\n')
  t.is(code, 0)
})

test.serial('a process in a pid namespace of its own holds a peer that it has no pid for', async (t) => {
  if (process.getuid?.() !== 0) {
    t.log('skipped: only root can make a pid namespace')
    t.pass()
    return
  }
  using listener = FdChannel.listen(socketPath(t))
  const source = `
    const { FdChannel } = await import(${JSON.stringify(new URL('../../host/sharing/fd_channel.ts', import.meta.url).href)})
    const { addon } = await import(${JSON.stringify(new URL('../../host/addon.ts', import.meta.url).href)})
    const one = await FdChannel.connect(${JSON.stringify(listener.path)})
    const other = await FdChannel.connect(${JSON.stringify(listener.path)})
    const watched = await Promise.race([one.peerExited, new Promise((resolve) => setTimeout(resolve, 20, 'watched'))])
    addon().setFault?.('channel.peerpidfd', 1)
    console.log(one.peer.pid, watched, addon().setFault ? await other.peerExited : 'unavailable')
    process.exit()`
  const child = spawn('unshare', ['--fork', '--pid', '--kill-child', process.execPath, '--import=tsx', '--input-type=module', '--eval', source], {
    cwd: new URL('../..', import.meta.url), stdio: ['ignore', 'pipe', 'inherit'], timeout: 60_000, killSignal: 'SIGKILL',
  })
  const servers = [await listener.accept(), await listener.accept()]
  t.is((await ended(child)).stdout, '0 watched unavailable\n')
  for (const server of servers) {
    t.is(await alive(server.peerExited), 'exited')
    server.close()
  }
})
