import type { ExecutionContext } from 'ava'
import { startBare } from './support/bare.ts'
import { startParty } from './support/party.ts'
import { ADAPTERS, FORMS, HANDLE_SIZE, LAYOUT, type Adapter, type Form } from './support/runtime.ts'
import { bytesOf, onBothAdapters } from './support/stage.ts'
import { syclTest } from './support/sycl_test.ts'

const NBYTES = 10_000

/** A process that says nothing on its standard output and ends by itself. */
function quiet(t: ExecutionContext, exit: { code: number | null; stdout: string; stderr: string }): void {
  t.deepEqual({ code: exit.code, stdout: exit.stdout }, { code: 0, stdout: '' }, exit.stderr)
}

async function theirsToUs(t: ExecutionContext, theirs: Adapter, ours: Adapter, form: Form): Promise<void> {
  const exporter = startBare({ adapter: theirs, form })
  const importer = startParty({ adapter: ours, form })
  await exporter.do(`allocate a ${NBYTES}`)
  await exporter.do(`fill a 7 ${NBYTES}`)
  const handle = await exporter.do('get a')
  t.is(handle.length, 2 * HANDLE_SIZE[theirs])

  const opened = await importer.do({ do: 'openVendor', name: 'a', bytes: handle, nbytes: NBYTES, layout: LAYOUT[theirs], allowPidfd: true })
  t.is(opened.nbytes, NBYTES)
  t.true(opened.unchecked!.some((text) => text.startsWith('liveness')), String(opened.unchecked))
  t.is((await importer.do({ do: 'read', name: 'a', nbytes: 8, offset: NBYTES - 8 })).bytes, bytesOf(7))
  // One memory, not a copy: both ways.
  await importer.do({ do: 'write', name: 'a', bytes: bytesOf(9), offset: 100 })
  t.is(await exporter.do('read a 100 8'), bytesOf(9))
  await exporter.do('write a 200 0a0b')
  t.is((await importer.do({ do: 'read', name: 'a', nbytes: 2, offset: 200 })).bytes, '0a0b')

  quiet(t, await importer.end())
  quiet(t, await exporter.end())
}

async function oursToThem(t: ExecutionContext, ours: Adapter, form: Form): Promise<void> {
  const exporter = startParty({ adapter: ours, form })
  const importer = startBare({ adapter: ours, form })
  await exporter.do({ do: 'allocate', name: 'a', nbytes: NBYTES, fill: 5 })
  const { vendor } = await exporter.do({ do: 'export', name: 'a' })
  t.is(vendor!.length, 2 * HANDLE_SIZE[ours])

  await importer.do(`open a ${vendor}`)
  t.is(await importer.do(`read a ${NBYTES - 8} 8`), bytesOf(5))
  await importer.do('write a 64 0102')
  t.is((await exporter.do({ do: 'read', name: 'a', nbytes: 2, offset: 64 })).bytes, '0102')

  await importer.do('close a')
  quiet(t, await importer.end())
  quiet(t, await exporter.end())
}

for (const adapter of ADAPTERS) {
  for (const form of ['classic', 'opaque-mirror'] as const) {
    syclTest(`${adapter}, ${form}: a C++ program exports over ipc::memory, we open its raw handle`, (t) => theirsToUs(t, adapter, adapter, form))
    syclTest(`${adapter}, ${form}: we export, a C++ program opens our raw handle over ipc::memory`, (t) => oursToThem(t, adapter, form))
  }
}

syclTest('a raw handle of one adapter is opened by a process on the other, which the bare runtime refuses', async (t) => {
  for (const theirs of ADAPTERS) {
    const ours = ADAPTERS.find((adapter) => adapter !== theirs)!
    await theirsToUs(t, theirs, ours, 'opaque-mirror')
    const exporter = startBare({ adapter: theirs })
    const importer = startBare({ adapter: ours })
    await exporter.do('allocate a 4096')
    t.is((await importer.ask(`open a ${await exporter.do('get a')}`)).status, 'error')
    await importer.end()
    await exporter.end()
  }
})

for (const adapter of ADAPTERS) for (const form of FORMS) {
  syclTest(`${adapter}, ${form}: an envelope crosses between two processes of ours, with its descriptor`, async (t) => {
    const exporter = startParty({ adapter, form })
    const importer = startParty({ adapter, form })
    await exporter.do({ do: 'allocate', name: 'a', nbytes: NBYTES, fill: 3 })
    const { envelope, descriptor } = await exporter.do({ do: 'export', name: 'a' })
    const opened = await importer.do({ do: 'open', name: 'a', bytes: envelope! }, descriptor)
    t.is(opened.nbytes, NBYTES)
    t.is((await importer.do({ do: 'read', name: 'a', nbytes: 8 })).bytes, bytesOf(3))

    const refused = await importer.ask({ do: 'open', name: 'b', bytes: envelope!.slice(0, -2) }, descriptor)
    t.is(refused.error?.name, 'HandleError')
    quiet(t, await importer.end())
    quiet(t, await exporter.end())
  })
}

onBothAdapters('with two devices: memory opens on the one that it is on, and nothing is adopted for the other', async (t, stage) => {
  const env = { USM_IPC_ZE_DEVICES: '2' }
  const exporter = stage.party({ env })
  const importer = stage.party({ env })
  const { devices } = await importer.do({ do: 'devices' })
  t.deepEqual(devices!.map(({ selector, software }) => ({ selector, software })), [
    { selector: 'sycl:0', software: true }, { selector: 'sycl:1', software: true },
  ])
  t.not(devices![0]!.uuid, devices![1]!.uuid)

  const { pointer } = await exporter.do({ do: 'allocate', name: 'a', nbytes: NBYTES, fill: 4, device: 'sycl:1' })
  const adopt = { do: 'adopt', name: 'b', pointer: pointer!, nbytes: NBYTES } as const
  t.is((await exporter.ask({ ...adopt, device: 'sycl:0' })).error?.code, 'ERR_USM_IPC_WRONG_DEVICE')
  await exporter.do({ ...adopt, device: 'sycl:1' })

  const { envelope, descriptor } = await exporter.do({ do: 'export', name: 'a' })
  t.is((await importer.ask({ do: 'open', name: 'a', bytes: envelope!, device: 'sycl:0' }, descriptor)).error?.code, 'ERR_USM_IPC_WRONG_DEVICE')
  await importer.do({ do: 'open', name: 'a', bytes: envelope!, device: 'sycl:1' }, descriptor)
  t.is((await importer.do({ do: 'read', name: 'a', nbytes: 8 })).bytes, bytesOf(4))
})
