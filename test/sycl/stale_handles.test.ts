/** Handles that no longer mean what they meant, or never did: what the bare runtime maps, and what this package does. */
import { closeSync, openSync } from 'node:fs'
import type { Party, Received } from './support/party.ts'
import type { Program } from './support/program.ts'
import type { Reply, Request } from './support/protocol.ts'
import { RawHandle } from './support/raw_handle.ts'
import { LAYOUT } from './support/runtime.ts'
import { bytesOf, onBothAdapters, type Stage } from './support/stage.ts'

const NBYTES = 65_536

async function filled(exporter: Program, name: string, value: number): Promise<string> {
  await exporter.do(`allocate ${name} ${NBYTES}`)
  await exporter.do(`fill ${name} ${value} ${NBYTES}`)
  return exporter.do(`get ${name}`)
}

const vendor = (stage: Stage, name: string, bytes: string, allowPidfd = true): Request & { name: string } => ({
  do: 'openVendor', name, bytes, nbytes: NBYTES, layout: LAYOUT[stage.adapter], allowPidfd,
})
const read = async (party: Party, name: string): Promise<string> => (await party.do({ do: 'read', name, nbytes: 8 })).bytes!

onBothAdapters('freed memory: the bare importer that had it goes on opening the old handle, ours needs who exports it', async (t, stage) => {
  const exporter = stage.bare()
  const handle = await filled(exporter, 'a', 1)
  const ourExporter = stage.party()
  await ourExporter.do({ do: 'allocate', name: 'a', nbytes: NBYTES, fill: 2 })
  const { envelope, descriptor } = await ourExporter.do({ do: 'export', name: 'a' })

  const bare = stage.bare()
  await bare.do(`open a ${handle}`)
  await bare.do('close a')
  const ours = stage.party()
  for (const request of [vendor(stage, 'raw', handle), { do: 'open', name: 'a', bytes: envelope!, allowPidfd: true } as const]) {
    await ours.do(request)
    await ours.do({ do: 'close', name: request.name })
  }
  await exporter.do('put a')
  await exporter.do('free a')
  await ourExporter.do({ do: 'closeExport', name: 'a' })
  await ourExporter.do({ do: 'close', name: 'a' })

  t.is((await bare.ask(`open a ${handle}`)).status, 'ok')
  t.is(await bare.do('read a 0 8'), bytesOf(1))
  t.like((await ours.ask(vendor(stage, 'raw', handle))).error, { name: 'DriverError', call: 'pidfd_getfd', result: 'EBADF' })
  t.like((await ours.ask({ do: 'open', name: 'a', bytes: envelope!, allowPidfd: true })).error, { call: 'pidfd_getfd', result: 'EBADF' })
  t.is((await ours.ask({ do: 'open', name: 'a', bytes: envelope! })).error?.code, 'ERR_USM_IPC_DESCRIPTOR_MISSING')
  // Who kept the descriptor kept the memory: it is what the envelope names, whatever its exporter did.
  await ours.do({ do: 'open', name: 'a', bytes: envelope! }, descriptor)
  t.is(await read(ours, 'a'), bytesOf(2))
})

onBothAdapters('a reused descriptor number: the bare runtime maps the wrong memory, ours sees that it is another file', async (t, stage) => {
  const exporter = stage.bare()
  const stale = await filled(exporter, 'a', 1)
  await exporter.do('put a')
  await exporter.do('free a')
  const fresh = await filled(exporter, 'b', 2)
  t.is(new RawHandle(fresh).fd, new RawHandle(stale).fd)
  const bare = stage.bare()
  await bare.do(`open a ${stale}`)
  t.is(await bare.do('read a 0 8'), bytesOf(2))

  const ourExporter = stage.party()
  // Other threads of the process take numbers too: the reuse is tried until it happens.
  const reuse = async (i: number): Promise<(Reply & Received)[]> => {
    await ourExporter.do({ do: 'allocate', name: `a${i}`, nbytes: NBYTES, fill: 1 })
    const first = await ourExporter.do({ do: 'export', name: `a${i}` })
    await ourExporter.do({ do: 'closeExport', name: `a${i}` })
    await ourExporter.do({ do: 'close', name: `a${i}` })
    await ourExporter.do({ do: 'allocate', name: `b${i}`, nbytes: NBYTES, fill: 2 })
    const second = await ourExporter.do({ do: 'export', name: `b${i}` })
    const reused = new RawHandle(second.vendor!).fd === new RawHandle(first.vendor!).fd
    return reused || i === 50 ? [first, second] : reuse(i + 1)
  }
  const [first, second] = (await reuse(0)) as [Reply & Received, Reply & Received]
  t.is(new RawHandle(second.vendor!).fd, new RawHandle(first.vendor!).fd)

  const ours = stage.party()
  for (const beside of [undefined, second.descriptor]) {
    const { error } = await ours.ask({ do: 'open', name: 'a', bytes: first.envelope!, ...(beside ? {} : { allowPidfd: true }) }, beside)
    t.like(error, { name: 'HandleError', code: 'ERR_USM_IPC_DESCRIPTOR_FOREIGN' })
  }
  // A raw handle says no more than a number: what is there now is what is opened, and the result says so.
  const raw = await ours.do(vendor(stage, 'raw', stale))
  t.is(await read(ours, 'raw'), bytesOf(2))
  t.true(raw.unchecked!.some((text) => text.startsWith('liveness')))
  t.true(raw.unchecked!.some((text) => text.startsWith('the descriptor')))
})

onBothAdapters('memory at a reused address: the bare runtime unmaps what is in use, ours keeps both', async (t, stage) => {
  const exporter = stage.bare()
  const bare = stage.bare()
  const ours = stage.party()
  const first = await filled(exporter, 'a', 1)
  await bare.do(`open a ${first}`)
  await ours.do(vendor(stage, 'a', first))
  await exporter.do('put a')
  await exporter.do('free a')
  const second = await filled(exporter, 'b', 2)
  t.is(new RawHandle(second).base, new RawHandle(first).base)

  await bare.do(`open b ${second}`)
  t.is(await bare.do('read a 0 8'), bytesOf(2)) // a is b's mapping now
  await ours.do(vendor(stage, 'b', second))
  t.deepEqual([await read(ours, 'a'), await read(ours, 'b')], [bytesOf(1), bytesOf(2)])
  await ours.do({ do: 'close', name: 'b' })
  t.is(await read(ours, 'a'), bytesOf(1))
})

onBothAdapters("a handle that names the importer itself: the bare runtime maps the importer's own private memory", async (t, stage) => {
  const exporter = stage.bare()
  const handle = await filled(exporter, 'a', 1)
  const forged = new RawHandle(handle)

  const bare = stage.bare()
  forged.fd = new RawHandle(await filled(bare, 'secret', 99)).fd
  forged.pid = bare.pid
  await bare.do(`open a ${forged.hex}`)
  t.is(await bare.do('read a 0 8'), bytesOf(99))

  const ours = stage.party()
  await ours.do({ do: 'allocate', name: 'secret', nbytes: NBYTES, fill: 99 })
  forged.fd = new RawHandle((await ours.do({ do: 'export', name: 'secret' })).vendor!).fd
  forged.pid = ours.pid
  t.is((await ours.ask(vendor(stage, 'a', forged.hex))).error?.code, 'ERR_USM_IPC_NAMES_THIS_PROCESS')
  await withDescriptor(exporter, handle, async (descriptor) => {
    await ours.do(vendor(stage, 'a', forged.hex, false), descriptor)
    t.is(await read(ours, 'a'), bytesOf(1))
  })
})

onBothAdapters("a handle that names a third process: the bare runtime takes that one's memory, ours what it was given", async (t, stage) => {
  const exporter = stage.bare()
  const third = stage.bare()
  const handle = await filled(exporter, 'a', 1)
  const forged = new RawHandle(handle)
  forged.fd = new RawHandle(await filled(third, 'secret', 99)).fd
  forged.pid = third.pid

  const bare = stage.bare()
  await bare.do(`open a ${forged.hex}`)
  t.is(await bare.do('read a 0 8'), bytesOf(99))

  const ours = stage.party()
  await withDescriptor(exporter, handle, async (descriptor) => {
    await ours.do(vendor(stage, 'a', forged.hex, false), descriptor)
    t.is(await read(ours, 'a'), bytesOf(1))
  })
  // Asked to fetch it, a raw handle's pid is all there is to go by, and the result says that nobody has checked it.
  const fetched = await ours.do(vendor(stage, 'b', forged.hex))
  t.true(fetched.unchecked!.some((text) => text.startsWith('the exporter')))
  // In an envelope it is sealed beside the process's start time.
  const ourExporter = stage.party()
  await ourExporter.do({ do: 'allocate', name: 'a', nbytes: NBYTES })
  const { envelope } = await ourExporter.do({ do: 'export', name: 'a' })
  const changed = Buffer.from(envelope!, 'hex')
  const at = changed.indexOf(pidBytes(ourExporter.pid))
  pidBytes(third.pid).copy(changed, at)
  t.is((await ours.ask({ do: 'open', name: 'c', bytes: changed.toString('hex'), allowPidfd: true })).error?.name, 'HandleError')
})

onBothAdapters('a killed exporter: the bare runtime fails without a word why, or serves its cache; ours says that it is gone', async (t, stage) => {
  const exporter = stage.bare()
  const ourExporter = stage.party()
  const handle = await filled(exporter, 'a', 1)
  await ourExporter.do({ do: 'allocate', name: 'a', nbytes: NBYTES, fill: 2 })
  const { envelope } = await ourExporter.do({ do: 'export', name: 'a' })
  const [had, fresh] = [stage.bare(), stage.bare()]
  await had.do(`open a ${handle}`)
  await had.do('close a')
  await fresh.do('start')
  const ours = stage.party()
  await ours.do({ do: 'open', name: 'live', bytes: envelope!, allowPidfd: true })
  const other = stage.party()
  await other.do({ do: 'devices' })
  await exporter.kill()
  await ourExporter.kill()

  t.is((await had.ask(`open a ${handle}`)).status, 'ok')
  const { status, text } = await fresh.ask(`open a ${handle}`)
  t.true(status === 'null' || text.includes('UR_RESULT_ERROR_INVALID_ARGUMENT'), text)

  t.is(await read(ours, 'live'), bytesOf(2))
  for (const request of [vendor(stage, 'raw', handle), { do: 'open', name: 'a', bytes: envelope!, allowPidfd: true } as const]) {
    t.like((await other.ask(request)).error, { name: 'PeerError', code: 'ERR_USM_IPC_EXPORTER_GONE' })
  }
})

onBothAdapters('a failed open: the bare runtime remembers it until it exits with a line about it, ours never asked', async (t, stage) => {
  const exporter = stage.bare()
  const handle = await filled(exporter, 'a', 1)
  await exporter.do('put a')
  await exporter.do('free a')
  const bare = stage.bare()
  t.not((await bare.ask(`open a ${handle}`)).status, 'ok')
  const bareExit = await bare.end()
  t.regex(bareExit.stderr, /FATAL UMF/)

  const ours = stage.party()
  t.truthy((await ours.ask(vendor(stage, 'a', handle))).error)
  const exit = await ours.end()
  t.deepEqual({ code: exit.code, stdout: exit.stdout, stderr: exit.stderr }, { code: 0, stdout: '', stderr: '' })
})

onBothAdapters('a pooled block, freed and taken again: the same address and the same bytes; ours are not the same', async (t, stage) => {
  const exporter = stage.bare({ pooled: true })
  const again = async (value: number): Promise<string> => {
    await exporter.do('allocate a 4096')
    await exporter.do(`fill a ${value} 4096`)
    const handle = await exporter.do('get a')
    await exporter.do('put a')
    await exporter.do('free a')
    return handle
  }
  const stale = await again(1)
  t.is(await again(2), stale)
  t.is(new RawHandle(stale).nbytes, NBYTES)
  const bare = stage.bare()
  await bare.do(`open a ${stale}`)
  t.is(await bare.do('read a 0 8'), bytesOf(2))

  // The raw handle of another program's pool: only a session with it could tell, and the result says so.
  const ours = stage.party()
  const raw = await ours.do({ do: 'openVendor', name: 'raw', bytes: stale, nbytes: 4096, layout: LAYOUT[stage.adapter], allowPidfd: true })
  t.true(raw.unchecked!.some((text) => text.startsWith('liveness')))
  t.is(raw.baseNbytes, NBYTES)

  const handles: RawHandle[] = []
  const envelopes: string[] = []
  for (const value of [1, 2]) {
    await ours.do({ do: 'allocate', name: 'a', nbytes: 4096, fill: value })
    const { vendor: bytes, envelope } = await ours.do({ do: 'export', name: 'a' })
    handles.push(new RawHandle(bytes!))
    envelopes.push(envelope!)
    await ours.do({ do: 'closeExport', name: 'a' })
    await ours.do({ do: 'close', name: 'a' })
  }
  t.not(handles[0]!.hex, handles[1]!.hex)
  t.not(envelopes[0], envelopes[1])
})

const pidBytes = (pid: number): Buffer => {
  const bytes = Buffer.alloc(8) // the header's and the handle's heads both have four zero bytes behind it or before it
  bytes.writeInt32LE(pid)
  return bytes.subarray(0, 4)
}

/** With a descriptor of the memory that a bare exporter's handle names. */
async function withDescriptor(exporter: Program, handle: string, body: (descriptor: number) => Promise<void>): Promise<void> {
  const descriptor = openSync(`/proc/${exporter.pid}/fd/${new RawHandle(handle).fd}`, 'r+')
  try {
    await body(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
