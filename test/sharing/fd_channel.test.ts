import test from 'ava'
import { closeSync, fstatSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Descriptor } from '../../host/descriptor.ts'
import { FdChannel, maxHeldDescriptors } from '../../host/sharing/fd_channel.ts'
import { alive, bytes, fill, numberOf, numbered, openDescriptors, startThread, tick } from './fd_channel_helpers.ts'

test.before(startThread)

const sixteen = Array.from({ length: 16 }, () => 0)

function closeSome(channel: FdChannel, count: number): void {
  for (const descriptor of [...channel.received].slice(0, count)) descriptor.close()
}

test.serial('a frame arrives as it was sent, from every kind of bytes', async (t) => {
  const [here, there] = FdChannel.pair()
  const all = Uint8Array.from({ length: 65536 }, (_, i) => i * 31 + (i >> 8))
  const shared = new Uint8Array(new SharedArrayBuffer(3))
  shared.set([7, 8, 9])
  const forms: [Parameters<FdChannel['send']>[0], Uint8Array][] = [
    [all, all],
    [bytes(5), bytes(5)],
    [bytes(1, 2, 3).buffer, bytes(1, 2, 3)],
    [bytes(1, 2, 3, 4).subarray(1, 3), bytes(2, 3)],
    [new DataView(bytes(1, 2, 3).buffer, 2), bytes(3)],
    [shared, bytes(7, 8, 9)],
    [shared.buffer, bytes(7, 8, 9)],
  ]
  for (const [form, expected] of forms) {
    await there.send(form)
    t.deepEqual((await here.receive()).bytes, expected)
  }
  here.close()
  there.close()
})

test.serial(
  'bytes and descriptors belong to the sender again when send returns, also of a send that waits',
  async (t) => {
    const [here, there] = FdChannel.pair()
    const { sent, waiting } = await fill(here)
    const frame = bytes(1, 2, 3)
    const file = Descriptor.adopt(openSync('/proc/self/stat', 'r'))
    const identity = fstatSync(file.number).ino
    const sending = here.send(frame, { descriptors: [file] })
    frame.fill(0)
    file.close()
    for (const number of [...sent, sent.length]) t.is(numberOf(t, await there.receive()), number)
    await Promise.all([waiting, sending])
    const received = await there.receive()
    t.deepEqual(received.bytes, bytes(1, 2, 3))
    t.is(fstatSync(received.descriptors[0]!.number).ino, identity)
    here.close()
    there.close()
  },
)

test.serial('lengths outside 1 to 65,536 and more than 16 descriptors are refused, and nothing is sent', async (t) => {
  const [here, there] = FdChannel.pair()
  await t.throwsAsync(here.send(new Uint8Array(0)), { instanceOf: RangeError, code: 'ERR_USM_IPC_EMPTY_FRAME' })
  await t.throwsAsync(here.send(new Uint8Array(65537)), { instanceOf: RangeError, code: 'ERR_USM_IPC_FRAME_TOO_LARGE' })
  const seventeen = Array.from({ length: 17 }, () => 0)
  await t.throwsAsync(here.send(bytes(1), { descriptors: seventeen }), { code: 'ERR_USM_IPC_TOO_MANY_DESCRIPTORS' })
  await t.throwsAsync(here.send('text' as never), { instanceOf: TypeError, code: 'ERR_USM_IPC_INVALID_BYTES' })
  await t.throwsAsync(here.send(bytes(1), { descriptors: [-1] }), {
    instanceOf: RangeError,
    code: 'ERR_USM_IPC_INVALID_DESCRIPTOR',
  })
  await t.throwsAsync(here.send(bytes(1), { descriptors: [1 << 20] }), { code: 'ERR_USM_IPC_SYSTEM_CALL_FAILED' })
  await t.throwsAsync(there.receive({ timeoutMs: 0 }), { code: 'ERR_USM_IPC_TIMEOUT' })
  here.close()
  there.close()
})

test.serial('16 descriptors arrive in order, as new numbers, and close with their objects', async (t) => {
  const before = openDescriptors()
  const directory = mkdtempSync(join(tmpdir(), 'usm-ipc-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const [here, there] = FdChannel.pair()
  const numbers = Array.from({ length: 16 }, (_, i) => {
    writeFileSync(join(directory, `${i}`), `file ${i}`)
    return openSync(join(directory, `${i}`), 'r')
  })
  await here.send(bytes(1), { descriptors: numbers })
  numbers.forEach(closeSync)
  const { descriptors } = await there.receive()
  t.is(descriptors.length, 16)
  descriptors.forEach((descriptor, i) => {
    t.is(readFileSync(descriptor.number, 'utf8'), `file ${i}`)
    t.regex(readFileSync(`/proc/self/fdinfo/${descriptor.number}`, 'utf8'), /flags:\s+0?2\d{6}/, 'close-on-exec')
  })
  t.is(there.received.size, 16)
  descriptors[3]!.close()
  descriptors[3]!.close()
  t.is(there.received.size, 15)
  t.throws(() => descriptors[3]!.number, { code: 'ERR_USM_IPC_CLOSED' })
  await t.throwsAsync(here.send(bytes(1), { descriptors: [descriptors[3]!] }), { code: 'ERR_USM_IPC_CLOSED' })
  here.close()
  there.close()
  t.true(
    descriptors.every((descriptor) => descriptor.isClosed),
    'closing the channel closes what it received',
  )
  t.is(there.received.size, 0)
  t.is(openDescriptors(), before)
})

test.serial('a channel that holds too many descriptors for another frame reads no more until some are closed', async (t) => {
  const [here, there] = FdChannel.pair()
  for (let held = 0; held < maxHeldDescriptors; held += 16) {
    await here.send(bytes(1), { descriptors: sixteen })
    await there.receive()
  }
  await here.send(bytes(2))
  const full = { code: 'ERR_USM_IPC_TOO_MANY_HELD_DESCRIPTORS' }
  await t.throwsAsync(there.receive(), full)
  t.deepEqual((await there.receive({ descriptors: false })).bytes, bytes(2), 'who expects none needs no room')
  await here.send(bytes(3))
  closeSome(there, 15)
  await t.throwsAsync(there.receive(), full)
  closeSome(there, 1)
  t.deepEqual((await there.receive()).bytes, bytes(3), 'the refused receives read nothing')
  here.close()
  there.close()
})

test.serial('receives that are pending do not take a channel beyond that: they wait for room', async (t) => {
  const [here, there] = FdChannel.pair()
  const before = openDescriptors()
  const receives = Array.from({ length: 40 }, () => there.receive())
  const late = there.receive({ timeoutMs: 5 })
  const sends = Array.from({ length: 41 }, (_, i) => here.send(bytes(i), { descriptors: sixteen }))
  await Promise.all(receives.slice(0, 16))
  t.is(there.received.size, maxHeldDescriptors)
  await t.throwsAsync(late, { code: 'ERR_USM_IPC_TIMEOUT' })
  t.is(there.received.size, maxHeldDescriptors)
  for (const [i, receive] of receives.entries()) {
    const frame = await receive
    t.is(frame.bytes[0], i)
    t.true(there.received.size <= maxHeldDescriptors)
    for (const descriptor of frame.descriptors) descriptor.close()
  }
  await Promise.all(sends)
  t.is(there.received.size, 0)
  t.is((await there.receive()).bytes[0], 40)
  here.close()
  there.close()
  t.is(openDescriptors(), before - 2)
})

test.serial('a frame whose descriptors nobody expects shuts the channel, and none of them gets in', async (t) => {
  const before = openDescriptors()
  for (const waits of [false, true]) {
    const [here, there] = FdChannel.pair()
    const unexpected = { name: 'PeerError', code: 'ERR_USM_IPC_UNEXPECTED_DESCRIPTORS' }
    const early = waits ? there.receive({ descriptors: false }) : undefined
    const [witness, passed] = FdChannel.pair()
    await here.send(bytes(1), { descriptors: [0, passed.fd, 2] })
    passed.close()
    await t.throwsAsync(early ?? there.receive({ descriptors: false }), unexpected)
    t.true(there.isClosed)
    await alive(witness.hangup)
    witness.close()
    await t.throwsAsync(here.receive(), { code: 'ERR_USM_IPC_PEER_GONE' })
    here.close()
    t.is(openDescriptors(), before)
  }
  const [here, there] = FdChannel.pair()
  await here.send(bytes(7))
  t.deepEqual(await there.receive({ descriptors: false }), { bytes: bytes(7), descriptors: [] })
  await t.throwsAsync(there.receive({ descriptors: 'none' } as never), { instanceOf: TypeError, code: 'ERR_USM_IPC_INVALID_OPTIONS' })
  here.close()
  there.close()
})

test.serial('order holds while the peer is slow', async (t) => {
  const [here, there] = FdChannel.pair()
  const total = 200
  const sending = (async () => {
    const pending = new Set<Promise<void>>()
    for (let number = 0; number < total; number++) {
      const send = here.send(numbered(number, number % 3 === 0 ? 65536 : 8 + number))
      pending.add(send)
      void send.finally(() => pending.delete(send))
      if (pending.size >= 40) await Promise.race(pending)
    }
    await Promise.all(pending)
  })()
  for (let number = 0; number < total; number++) {
    if (number % 16 === 0) await tick()
    t.is(numberOf(t, await there.receive()), number)
  }
  await sending
  here.close()
  there.close()
})

test.serial('descriptors do not pile up over many frames', async (t) => {
  const [here, there] = FdChannel.pair()
  const before = openDescriptors()
  for (let i = 0; i < 2000; i++) {
    await here.send(bytes(1), { descriptors: [0, 1] })
    for (const descriptor of (await there.receive()).descriptors) descriptor.close()
  }
  t.is(openDescriptors(), before)
  here.close()
  there.close()
  t.is(openDescriptors(), before - 2)
})

test.serial('misspelt options and wrong ones are refused by name', async (t) => {
  const [here, there] = FdChannel.pair()
  const unknown = { instanceOf: TypeError, code: 'ERR_USM_IPC_UNKNOWN_OPTION' }
  await t.throwsAsync(here.send(bytes(1), { descriptor: [] } as never), {
    ...unknown,
    message: /FdChannel\.send .*"descriptor"/,
  })
  await t.throwsAsync(here.receive({ timeout: 5 } as never), { ...unknown, message: /"timeout"/ })
  await t.throwsAsync(FdChannel.connect('/nowhere', { abort: 1 } as never), unknown)
  t.throws(() => FdChannel.listen('/nowhere', { permissions: 1 } as never), unknown)
  await t.throwsAsync(here.receive({ timeoutMs: '5' as never }), {
    instanceOf: TypeError,
    code: 'ERR_USM_IPC_INVALID_TIMEOUT',
  })
  await t.throwsAsync(here.receive({ timeoutMs: NaN }), { instanceOf: RangeError, code: 'ERR_USM_IPC_INVALID_TIMEOUT' })
  here.close()
  there.close()
})

test.serial('adopt takes connected seqpacket sockets only, and leaves others alone', (t) => {
  const file = openSync('/dev/null', 'r')
  for (const fd of [file, 1 << 20]) {
    t.throws(() => FdChannel.adopt(fd), { instanceOf: RangeError, code: 'ERR_USM_IPC_NOT_A_SEQPACKET_SOCKET' })
  }
  t.notThrows(() => closeSync(file), "still open, and still the caller's")
  t.throws(() => FdChannel.adopt('3' as never), { instanceOf: TypeError })
  t.throws(() => FdChannel.adopt(-1), { instanceOf: RangeError })
})

test.serial('a channel that travels over a channel works as one', async (t) => {
  const [here, there] = FdChannel.pair()
  const [near, far] = FdChannel.pair()
  await here.send(bytes(1), { descriptors: [far.fd] })
  far.close()
  const { descriptors } = await there.receive()
  const adopted = FdChannel.adopt(descriptors[0]!)
  t.true(descriptors[0]!.isClosed)
  await near.send(bytes(4))
  t.deepEqual((await adopted.receive()).bytes, bytes(4))
  adopted.close()
  await alive(near.hangup)
  const file = Descriptor.adopt(openSync('/dev/null', 'r'))
  t.throws(() => FdChannel.adopt(file), { code: 'ERR_USM_IPC_NOT_A_SEQPACKET_SOCKET' })
  t.false(file.isClosed)
  for (const owner of [file, near, here, there]) owner.close()
})
