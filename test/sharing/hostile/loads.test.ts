// Importers that say nothing, never read, never stop, or come in numbers; and what only a raw socket can send.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { FdChannel } from '../../../host/index.ts'
import { decodeReply, encode } from '../../../host/sharing/protocol.ts'
import { RawImporter } from '../raw.ts'
import { until } from '../trust/support.ts'
import { Besieged, push, untilDropped } from './support.ts'

const LIST = { t: 'list', id: 1, prefix: '', after: '' } as const

test.serial('who says nothing is dropped at the hello\'s deadline, and who says it in time is not', async (t) => {
  await using besieged = await Besieged.start(t, { helloMs: 400 })
  const silent = await Promise.all(Array.from({ length: 40 }, () => FdChannel.connect(besieged.path)))
  await besieged.served(t)
  using welcomed = await RawImporter.welcomed(besieged.path)
  for (const channel of silent) {
    for (const frame of await untilDropped(channel)) t.like(decodeReply(frame), { t: 'refused', id: 0, code: 'protocol' })
    channel.close()
  }
  // A welcomed importer may be silent for as long as it likes.
  await new Promise((resolve) => setTimeout(resolve, 500))
  await welcomed.open('weights')
  welcomed.channel.close()
  await besieged.flat(t)
})

test.serial('who asks and never reads is dropped at the send\'s deadline', async (t) => {
  await using besieged = await Besieged.start(t, { sendMs: 400 })
  using importer = await RawImporter.welcomed(besieged.path)
  const { lease } = (await importer.open('weights')).message
  t.true(lease > 0)
  // Both sockets' buffers fill up; the exporter then waits for this one, and for nothing else.
  let sent = 0
  while (sent < 200_000 && (await push(importer.channel, encode({ ...LIST, id: sent })))) {
    if (++sent % 64 === 0) await besieged.served(t)
  }
  t.true(sent < 200_000)
  t.deepEqual(await besieged.dropped(1), ['ERR_USM_IPC_TIMEOUT'])
  importer.channel.close()
  await besieged.flat(t)
})

test.serial('who does not take a revocation off its socket is dropped, and unpublish goes on', async (t) => {
  await using besieged = await Besieged.start(t, { sendMs: 400 })
  using importer = await RawImporter.welcomed(besieged.path)
  await importer.open('weights')
  // Answers that are not read, until not one more fits.
  while (await sendsWithin(importer.channel, encode(LIST), 100));
  await besieged.exporter.do({ do: 'publish', name: 'other', nbytes: 4096, fill: 1 })
  await besieged.exporter.do({ do: 'unpublish', name: 'weights' })
  t.deepEqual(await besieged.dropped(1), ['ERR_USM_IPC_TIMEOUT'])
  t.deepEqual((await besieged.exporter.do({ do: 'leases' })).leases, [])
})

async function sendsWithin(channel: FdChannel, frame: Uint8Array, timeoutMs: number): Promise<boolean> {
  return channel.send(frame, { timeoutMs }).then(() => true, () => false)
}

test.serial('who floods with valid requests is dropped by the allowance', async (t) => {
  await using besieged = await Besieged.start(t, { requestsPerSecond: 200, requestBurst: 400 })
  using importer = await RawImporter.welcomed(besieged.path)
  let answers = 0
  const reading = untilDropped(importer.channel).then((frames) => (answers = frames.length))
  for (let i = 0; i < 100_000 && (await push(importer.channel, encode(LIST))); i++);
  await reading
  t.true(answers < 10_000, `${answers} answers`) // those that it had not read yet went with the connection
  t.deepEqual(await besieged.dropped(1), ['ERR_USM_IPC_FLOOD'])
  await besieged.flat(t)
})

test.serial('a flood within the allowance leaves others their turn', async (t) => {
  await using besieged = await Besieged.start(t)
  const flooders = await Promise.all(Array.from({ length: 8 }, () => RawImporter.welcomed(besieged.path)))
  let stop = false
  const floods = flooders.map(async ({ channel }) => {
    let asked = 0
    for (; !stop && asked < 20_000; asked++) {
      await push(channel, encode(asked % 2 ? LIST : { t: 'open', id: 2, name: 'weights' }))
      for (const descriptor of (await channel.receive()).descriptors) descriptor.close()
    }
    return asked
  })
  let slowest = 0
  for (let i = 0; i < 100; i++) {
    const start = performance.now()
    await besieged.served(t)
    slowest = Math.max(slowest, performance.now() - start)
  }
  stop = true
  const asked = (await Promise.all(floods)).reduce((sum, n) => sum + n)
  t.true(asked > 100)
  t.log(`100 rounds of list, open, read and close beside ${asked} requests of others: ${slowest.toFixed(0)} ms at most`)
  for (const { channel } of flooders) channel.close()
  await besieged.flat(t)
})

test.serial('more connections than one user may have: those beyond are closed, and make room again', async (t) => {
  await using besieged = await Besieged.start(t, { peersPerUser: 20 })
  const served: RawImporter[] = []
  let turnedAway = 0
  for (let i = 0; i < 60; i++) {
    try {
      served.push(await RawImporter.welcomed(besieged.path))
    } catch (error) {
      t.is((error as { code?: string }).code, 'ERR_USM_IPC_PEER_GONE')
      turnedAway++
    }
  }
  t.is(served.length, 19)
  t.is(turnedAway, 41)
  await besieged.served(t)
  for (const { channel } of served.splice(0)) channel.close()
  t.true(await until(async () => (await besieged.exporter.held()).peers === 1))
  ;(await RawImporter.welcomed(besieged.path)).channel.close()
  await besieged.flat(t)
})

test.serial('more leases than one connection, or all together, may have', async (t) => {
  await using besieged = await Besieged.start(t, { leasesPerPeer: 2, leases: 3 })
  for (const name of ['b', 'c']) await besieged.exporter.do({ do: 'publish', name, nbytes: 4096, fill: 1 })
  using first = await RawImporter.welcomed(besieged.path)
  using second = await RawImporter.welcomed(besieged.path)
  const refused = async (importer: RawImporter, name: string): Promise<void> => {
    await importer.send({ t: 'open', id: 9, name })
    t.like((await importer.hear()).message, { t: 'refused', id: 9, code: 'too-many-leases' })
  }
  await first.open('weights')
  const { lease } = (await first.open('b')).message
  await refused(first, 'c')
  await second.open('weights')
  await refused(second, 'b')
  await first.send({ t: 'release', leases: [lease] })
  await first.send(LIST)
  await first.hear() // a release has no answer of its own; it has been seen by now
  await second.open('c')
})

test.serial('connections that come and go', async (t) => {
  await using besieged = await Besieged.start(t)
  let welcomed = 0
  const lane = async (): Promise<void> => {
    for (let i = 0; i < 250; i++) {
      const channel = await FdChannel.connect(besieged.path, { timeoutMs: 10_000 })
      if (i % 5 > 0) await push(channel, encode({ t: 'hello', versions: [1] }))
      if (i % 5 > 1) await channel.receive()
      if (i % 5 > 1) welcomed++
      if (i % 5 > 2) await push(channel, encode({ t: 'open', id: 1, name: 'weights' }))
      if (i % 5 > 3) await channel.receive() // with a descriptor, which closing it closes
      channel.close()
    }
  }
  await Promise.all([lane(), lane(), lane(), lane(), ...Array.from({ length: 10 }, () => besieged.served(t))])
  t.is(welcomed, 600)
  await besieged.flat(t)
})

test.serial('frames and descriptors that only a raw socket can send', async (t) => {
  await using besieged = await Besieged.start(t)
  const script = fileURLToPath(new URL('fuzz/raw_sender.py', import.meta.url))
  const child = spawn('python3', [script, besieged.path, '7', '300'], { stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000, killSignal: 'SIGKILL' })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  t.is(code, 0, stderr)
  t.is(Number(stdout), 300)
  const codes = new Set(await besieged.dropped(150))
  t.deepEqual([...codes].filter((c) => !['ERR_USM_IPC_EMPTY_FRAME', 'ERR_USM_IPC_FRAME_TOO_LARGE', 'ERR_USM_IPC_TOO_MANY_DESCRIPTORS', 'ERR_USM_IPC_UNEXPECTED_DESCRIPTORS'].includes(c)), [])
  for (const expected of ['ERR_USM_IPC_EMPTY_FRAME', 'ERR_USM_IPC_FRAME_TOO_LARGE', 'ERR_USM_IPC_UNEXPECTED_DESCRIPTORS']) t.true(codes.has(expected), expected)
  await besieged.flat(t)
})
