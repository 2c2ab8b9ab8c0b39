import test, { type ExecutionContext } from 'ava'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FdChannel, IPCMemoryHandle, MemoryUSMDevice, type MemoryIPCDevice } from '../../host/index.ts'
import { alive, startChannelThread } from '../support/child.ts'
import { counts, openDescriptors } from '../support/counts.ts'
import { deadline, party, type Party } from './party.ts'
import { NBYTES, type Step } from './protocol.ts'

const gone = { code: 'ERR_USM_IPC_PEER_GONE' }

/** What is named somewhere; tsx keeps a socket of its own in the temporary directory. */
const named = (folder: string): string[] => [...readdirSync('/dev/shm'), ...readdirSync(folder).filter((name) => !name.startsWith('tsx-'))]

/** Runs with a child that is killed in it, and then looks at what is left: here, in /dev/shm, on disk. */
async function survives(t: ExecutionContext, action: (victim: Party) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-'))
  const before = { ...counts(), descriptors: openDescriptors() }
  const files = named(folder)
  const victim = await party({ TMPDIR: folder, TSX_DISABLE_CACHE: '1' })
  try {
    await action(victim)
    t.is((await victim.exited).signal, 'SIGKILL')
    t.is((await victim.exited).stderr, '')
    t.deepEqual(named(folder), files)
  } finally {
    await victim.kill()
    victim.data.close()
    rmSync(folder, { recursive: true })
  }
  const now = (): object => ({ ...counts(), descriptors: openDescriptors() })
  for (let i = 0; i < 500 && JSON.stringify(now()) !== JSON.stringify(before); i++) await new Promise((resolve) => setTimeout(resolve, 2))
  t.deepEqual(now(), before)
}

/** All bytes are what the other side may have written. */
function valid(t: ExecutionContext, memory: MemoryUSMDevice, ...allowed: number[]): void {
  const bytes = new Uint8Array(memory.nbytes)
  memory.copyTo(bytes)
  t.deepEqual([...new Set(bytes)].filter((byte) => !allowed.includes(byte)), [])
}

async function receiveAndOpen(data: FdChannel): Promise<MemoryIPCDevice> {
  const { bytes } = await data.receive(deadline)
  return IPCMemoryHandle.open(bytes, 'host', undefined, { channel: data })
}

// What a process opens once: the channel thread's descriptors, and libuv's pipe for the end of the first child.
test.before(async () => {
  await startChannelThread()
  const first = await party()
  await first.kill()
  first.data.close()
})

// The exporter is killed

test.serial('the exporter is killed before it sends: the importer learns that it is gone', async (t) => {
  await survives(t, async (exporter) => {
    await exporter.do('export')
    const waiting = exporter.data.receive(deadline)
    await exporter.kill()
    await t.throwsAsync(waiting, gone)
    await t.throwsAsync(exporter.data.receive(deadline), gone)
    await alive(exporter.data.hangup)
  })
})

test.serial('the exporter is killed after it sent: the importer receives, opens and reads', async (t) => {
  await survives(t, async (exporter) => {
    await exporter.do('export', 'send')
    await exporter.kill()
    using mapped = await receiveAndOpen(exporter.data)
    t.is(mapped.path, 'mapped')
    valid(t, mapped, 1)
    mapped.fill(9)
    valid(t, mapped, 9)
    await t.throwsAsync(exporter.data.receive(deadline), gone)
  })
})

test.serial('the exporter is killed between receive and open: what came beside the bytes is enough', async (t) => {
  await survives(t, async (exporter) => {
    await exporter.do('export', 'send')
    const { bytes } = await exporter.data.receive(deadline)
    await exporter.kill()
    using mapped = IPCMemoryHandle.open(bytes, 'host', undefined, { channel: exporter.data })
    valid(t, mapped, 1)
  })
})

test.serial('the exporter is killed while the importer reads: the bytes stay', async (t) => {
  await survives(t, async (exporter) => {
    await exporter.do('export', 'send')
    using mapped = await receiveAndOpen(exporter.data)
    let killed: Promise<unknown> | undefined
    for (let round = 0, after = 0; after < 50; round++) {
      valid(t, mapped, 1)
      if (round === 20) killed = exporter.kill()
      if (exporter.process.signalCode !== null) after++
      await new Promise((resolve) => setImmediate(resolve))
    }
    await killed
    valid(t, mapped, 1)
  })
})

test.serial('the exporter is killed while it writes: the importer reads what was written', async (t) => {
  await survives(t, async (exporter) => {
    await exporter.do('export', 'send')
    using mapped = await receiveAndOpen(exporter.data)
    await exporter.do('write')
    for (let i = 0; i < 50; i++) valid(t, mapped, 1, 2)
    await exporter.kill()
    for (let i = 0; i < 50; i++) valid(t, mapped, 1, 2)
    mapped.fill(7)
    valid(t, mapped, 7)
  })
})

test.serial('the exporter is killed after it closed everything: the mapping is good', async (t) => {
  await survives(t, async (exporter) => {
    await exporter.do('export', 'send')
    using mapped = await receiveAndOpen(exporter.data)
    await exporter.do('close')
    valid(t, mapped, 1)
    await exporter.kill()
    valid(t, mapped, 1)
  })
})

// The importer is killed

async function sharedWith(importer: Party): Promise<{ memory: MemoryUSMDevice; handle: IPCMemoryHandle } & Disposable> {
  const memory = new MemoryUSMDevice(NBYTES, { device: 'host' })
  memory.fill(1)
  const handle = new IPCMemoryHandle(memory)
  await importer.data.send(handle.toBytes(), { descriptors: handle.descriptors, ...deadline })
  return { memory, handle, [Symbol.dispose]: () => (handle.close(), memory.close()) }
}

test.serial('the importer is killed before anything is sent: the exporter learns that it is gone', async (t) => {
  await survives(t, async (importer) => {
    await importer.do('wait')
    await importer.kill()
    const memory = new MemoryUSMDevice(NBYTES, { device: 'host' })
    const handle = new IPCMemoryHandle(memory)
    await t.throwsAsync(importer.data.send(handle.toBytes(), { descriptors: handle.descriptors, ...deadline }), gone)
    await alive(importer.data.hangup)
    handle.close()
    memory.close()
  })
})

test.serial('the importer is killed before it receives: the exporter\'s memory is its own', async (t) => {
  await survives(t, async (importer) => {
    await importer.do('wait')
    using shared = await sharedWith(importer)
    await importer.kill()
    valid(t, shared.memory, 1)
    await t.throwsAsync(importer.data.receive(deadline), gone)
  })
})

for (const [phase, steps] of [
  ['after it received', ['receive']],
  ['after it opened', ['receive', 'open']],
  ['while it reads', ['receive', 'open', 'read']],
  ['after it closed', ['receive', 'open', 'close']],
] as const satisfies [string, Step[]][]) {
  test.serial(`the importer is killed ${phase}: the exporter goes on`, async (t) => {
    await survives(t, async (importer) => {
      using shared = await sharedWith(importer)
      const waiting = importer.data.receive(deadline)
      await importer.do(...steps)
      valid(t, shared.memory, 1)
      await importer.kill()
      await t.throwsAsync(waiting, gone)
      await t.throwsAsync(importer.data.send(new Uint8Array(1), deadline), gone)
      valid(t, shared.memory, 1)
      shared.memory.fill(4)
      valid(t, shared.memory, 4)
      t.is(counts().resources >= 1, true)
    })
  })
}

test.serial('the importer is killed while it writes: the exporter reads what was written', async (t) => {
  await survives(t, async (importer) => {
    using shared = await sharedWith(importer)
    await importer.do('receive', 'open', 'write')
    for (let i = 0; i < 50; i++) valid(t, shared.memory, 1, 2)
    await importer.kill()
    valid(t, shared.memory, 1, 2)
    await t.throwsAsync(importer.data.receive(deadline), gone)
  })
})

test.serial('one importer of two is killed: the other goes on', async (t) => {
  await survives(t, async (importer) => {
    using shared = await sharedWith(importer)
    const other = await party({})
    try {
      await other.data.send(shared.handle.toBytes(), { descriptors: shared.handle.descriptors, ...deadline })
      await Promise.all([importer.do('receive', 'open', 'write'), other.do('receive', 'open')])
      await importer.kill()
      const { values } = await other.do('check')
      t.deepEqual(values!.filter((value) => value !== 1 && value !== 2), [])
      valid(t, shared.memory, 1, 2)
      await other.do('close', 'exit')
      t.like(await other.exited, { code: 0, stderr: '' })
    } finally {
      await other.kill()
      other.data.close()
    }
  })
})
