// Peers that are other programs, break the rules, or are killed.
import test from 'ava'
import { once } from 'node:events'
import { FdChannel } from '../../host/sharing/fd_channel.ts'
import {
  alive,
  bytes,
  ended,
  node,
  numberOf,
  numbered,
  openDescriptors,
  python,
  startThread,
} from './fd_channel_helpers.ts'

test.before(startThread)

const preamble = `
peer = socket.socket(fileno=3)
peer.setblocking(True)
rights = lambda fds: (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))
`

/** A Python program with the other end as `peer`. */
function pythonPeer(source: string) {
  const [here, there] = FdChannel.pair()
  const child = python(`${preamble}${source}`, ['pipe', 'pipe', 'inherit', there.fd])
  there.close()
  return { here, child, end: ended(child) }
}

const untilDropped = `
try:
  end = peer.recv(10)
except ConnectionResetError:
  end = b''
print(end)`

test.serial('a program in another language speaks it', async (t) => {
  const { here, end } = pythonPeer(`
data, ancillary, flags, address = peer.recvmsg(65536, 1024)
fds = array.array('i', ancillary[0][2])
peer.sendmsg([data[::-1] + os.readlink('/proc/self/fd/%d' % fds[0]).encode()], [rights(fds)])
`)
  await here.send(bytes(3, 2, 1), { descriptors: [0] })
  const { bytes: answer, descriptors } = await here.receive()
  t.deepEqual(answer.subarray(0, 3), bytes(1, 2, 3))
  t.is(descriptors.length, 1)
  t.is((await end).code, 0)
  await t.throwsAsync(here.receive(), { code: 'ERR_USM_IPC_PEER_GONE' })
  here.close()
})

const breaches: [string, string, string][] = [
  ['17 descriptors', `peer.sendmsg([b'x'], [rights([0] * 17)])`, 'ERR_USM_IPC_TOO_MANY_DESCRIPTORS'],
  ['18 descriptors', `peer.sendmsg([b'x'], [rights([0] * 18)])`, 'ERR_USM_IPC_TOO_MANY_DESCRIPTORS'],
  ['253 descriptors', `peer.sendmsg([b'x'], [rights([0] * 253)])`, 'ERR_USM_IPC_TOO_MANY_DESCRIPTORS'],
  ['65,537 bytes', `peer.send(bytes(65537))`, 'ERR_USM_IPC_FRAME_TOO_LARGE'],
  ['too much of both', `peer.sendmsg([bytes(100000)], [rights([0] * 40)])`, 'ERR_USM_IPC_FRAME_TOO_LARGE'],
  ['an empty frame', `peer.send(b'')`, 'ERR_USM_IPC_EMPTY_FRAME'],
  ['an empty frame with a descriptor', `peer.sendmsg([b''], [rights([0])])`, 'ERR_USM_IPC_EMPTY_FRAME'],
]
for (const [what, source, code] of breaches) {
  test.serial(`a peer that sends ${what} is dropped, and nothing of it stays`, async (t) => {
    const before = openDescriptors()
    const { here, end, child } = pythonPeer(`${source}\n${untilDropped}`)
    const [first, second] = [here.receive(), here.receive()]
    await t.throwsAsync(first, { code, name: 'PeerError' })
    await t.throwsAsync(second, { code: 'ERR_USM_IPC_CLOSED', message: /broken frame/ })
    t.true(here.isClosed)
    await alive(here.hangup)
    t.is((await end).stdout.trim(), `b''`, 'the peer sees the end of the channel')
    child.stdin?.destroy()
    t.is(openDescriptors(), before)
  })
}

test.serial('ancillary data of other kinds brings nothing', async (t) => {
  const { here, end } = pythonPeer(`
import struct
credentials = struct.pack('iII', os.getpid(), os.getuid(), os.getgid())
peer.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, credentials)])
peer.sendmsg([b'y'], [rights([0]), rights([1, 2])])
`)
  t.deepEqual(await here.receive(), { bytes: bytes(0x78), descriptors: [] })
  t.is((await here.receive()).descriptors.length, 3)
  here.close() // and with it our copy of the child's stdout
  await end
})

test.serial('a peer that is killed while it sends leaves whole frames, then the end', async (t) => {
  const [here, there] = FdChannel.pair()
  const child = python(
    `${preamble}
n = 0
while True:
  peer.send(n.to_bytes(4, 'big') + bytes(60000) + (n ^ 0xffffffff).to_bytes(4, 'big'))
  n += 1`,
    ['ignore', 'ignore', 'ignore', there.fd],
  )
  there.close()
  let expected = 0
  const { hangup } = here
  for (; expected < 50; expected++) t.is(numberOf(t, await here.receive()), expected)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await alive(hangup)
  for (;;) {
    try {
      t.is(numberOf(t, await here.receive()), expected++)
    } catch (error) {
      t.is((error as { code: string }).code, 'ERR_USM_IPC_PEER_GONE')
      break
    }
  }
  await t.throwsAsync(here.send(bytes(1)), { code: 'ERR_USM_IPC_PEER_GONE' })
  here.close()
})

test.serial('a send that waits learns that its peer was killed', async (t) => {
  const [here, there] = FdChannel.pair()
  const child = python('sys.stdin.read()', ['pipe', 'ignore', 'ignore', there.fd])
  there.close()
  const sends: Promise<void>[] = []
  for (let i = 0; i < 20; i++) sends.push(here.send(numbered(i, 65536)))
  const results = Promise.allSettled(sends)
  await sends[0]
  child.kill('SIGKILL')
  const codes = (await results).map((result) => (result.status === 'rejected' ? result.reason.code : 'sent'))
  t.is(codes.at(-1), 'ERR_USM_IPC_PEER_GONE')
  t.deepEqual(codes, [...codes].sort().reverse(), 'sent ones come first')
  here.close()
})

test.serial('a child adopts the end that it inherits, and answers', async (t) => {
  const [here, there] = FdChannel.pair()
  const child = node(
    `const channel = FdChannel.adopt(3)
     for (;;) {
       const { bytes, descriptors } = await channel.receive()
       await channel.send(bytes.map((value) => value + 1), { descriptors })
       if (bytes[0] === 9) break
     }
     channel.close()`,
    ['ignore', 'inherit', 'inherit', there.fd],
  )
  there.close()
  for (const value of [1, 5, 9]) {
    await here.send(bytes(value), { descriptors: [0] })
    const answer = await here.receive()
    t.deepEqual(answer.bytes, bytes(value + 1))
    t.is(answer.descriptors.length, 1)
  }
  t.is(here.peer.pid, process.pid, 'of a pair, the process that made it')
  t.is((await ended(child)).code, 0)
  await t.throwsAsync(here.receive(), { code: 'ERR_USM_IPC_PEER_GONE' })
  here.close()
})

test.serial('descriptors that this process has no numbers for are lost aloud', async (t) => {
  const [here, there] = FdChannel.pair()
  const child = node(
    `import { openSync, closeSync } from 'node:fs'
     const channel = FdChannel.adopt(3)
     console.log((await channel.receive()).bytes[0])
     const fillers = []
     try { for (;;) fillers.push(openSync('/dev/null')) } catch {}
     closeSync(fillers.pop())
     const error = await channel.receive().catch((error) => error)
     fillers.forEach((fd) => closeSync(fd))
     console.log(error.code, error.name, channel.isClosed)`,
    ['ignore', 'pipe', 'inherit', there.fd],
    'ulimit -n 64',
  )
  there.close()
  await here.send(bytes(7))
  await here.send(bytes(8), { descriptors: [0, 0, 0] })
  const { stdout, code } = await ended(child)
  t.is(stdout, '7\nERR_USM_IPC_DESCRIPTORS_LOST DriverError true\n')
  t.is(code, 0)
  here.close()
})
