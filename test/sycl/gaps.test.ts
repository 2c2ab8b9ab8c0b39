/** What the bare runtime leaves open, and what this package does there: one test a gap, on both adapters. Handles and identity: stale_handles.test.ts. */
import { spawnSync } from 'node:child_process'
import { RawHandle } from './support/raw_handle.ts'
import { LAYOUT } from './support/runtime.ts'
import { bytesOf, onBothAdapters } from './support/stage.ts'

const NBYTES = 65_536
const NOBODY = 65_534
const isRoot = process.getuid!() === 0

onBothAdapters('a closed mapping stays mapped: without a bound for the bare runtime, with ours under 64', async (t, stage) => {
  const exporter = stage.bare()
  const handles: string[] = []
  for (let i = 0; i < 100; i++) {
    await exporter.do(`allocate m${i} 4096`)
    handles.push(await exporter.do(`get m${i}`))
  }
  const bare = stage.bare()
  for (const [i, handle] of handles.entries()) {
    await bare.do(`open m${i} ${handle}`)
    await bare.do(`close m${i}`)
  }
  t.is(Number(await bare.do('mappings')), 100)

  const ours = stage.party()
  for (let round = 0; round < 2; round++) {
    for (const bytes of handles) {
      await ours.do({ do: 'openVendor', name: 'm', bytes, nbytes: 4096, layout: LAYOUT[stage.adapter], allowPidfd: true })
      await ours.do({ do: 'close', name: 'm' })
    }
    const { mappings, live, resources } = await ours.do({ do: 'counts' })
    t.deepEqual({ live, resources }, { live: 0, resources: 0 })
    t.true(mappings! <= 64, `${mappings} mappings`)
  }
})

onBothAdapters('small allocations share a slab: an importer of the bare runtime reads its neighbours, ours are alone', async (t, stage) => {
  const exporter = stage.bare({ pooled: true })
  for (const [name, value] of [['a', 1], ['b', 2]] as const) {
    await exporter.do(`allocate ${name} 4096`)
    await exporter.do(`fill ${name} ${value} 4096`)
  }
  const [a, b] = [await exporter.do('get a'), await exporter.do('get b')].map((hex) => new RawHandle(hex))
  t.true(a!.nbytes > 4096)
  t.is(a!.base, b!.base)
  const bare = stage.bare()
  await bare.do(`open a ${a!.hex}`)
  t.is(await bare.do(`read a ${b!.offset - a!.offset} 8`), bytesOf(2))

  const ours = stage.party()
  for (const name of ['a', 'b']) await ours.do({ do: 'allocate', name, nbytes: 4096 })
  const first = new RawHandle((await ours.do({ do: 'export', name: 'a' })).vendor!)
  const second = new RawHandle((await ours.do({ do: 'export', name: 'b' })).vendor!)
  t.deepEqual([first.nbytes, first.offset], [4096, 0])
  t.not(first.base, second.base)

  if (stage.adapter === 'v1') return // the variable that switches pooling off cannot switch it on there
  // Where the user has switched pooling on, memory that is in a slab is not shared unless that is said.
  const pooled = stage.party({ pooled: true })
  for (const name of ['a', 'b']) await pooled.do({ do: 'allocate', name, nbytes: 4096 })
  t.is((await pooled.ask({ do: 'export', name: 'b' })).error?.code, 'ERR_USM_IPC_NEIGHBOURS')
  const { pointer } = await pooled.do({ do: 'allocate', name: 'c', nbytes: 4096, fill: 3 })
  const adopt = { do: 'adopt', name: 'adopted', pointer: pointer!, nbytes: 4096 } as const
  t.is((await pooled.ask(adopt)).error?.code, 'ERR_USM_IPC_NEIGHBOURS')
  const adopted = await pooled.do({ ...adopt, allowNeighbours: true })
  t.true(adopted.baseNbytes! > 4096)
  const { envelope, descriptor } = await pooled.do({ do: 'export', name: 'adopted' })
  await ours.do({ do: 'open', name: 'adopted', bytes: envelope! }, descriptor)
  t.is((await ours.do({ do: 'read', name: 'adopted', nbytes: 8 })).bytes, bytesOf(3))
})

onBothAdapters('an exporter that may not be traced: the bare runtime says INVALID_ARGUMENT or nothing, ours says why and opens by channel', async (t, stage) => {
  const bareExporter = stage.bare()
  await bareExporter.do(`allocate a ${NBYTES}`)
  const handle = await bareExporter.do('get a')
  const ourExporter = stage.party()
  await ourExporter.do({ do: 'allocate', name: 'a', nbytes: NBYTES, fill: 6 })
  const { envelope, descriptor } = await ourExporter.do({ do: 'export', name: 'a' })

  const bare = stage.bare()
  const ours = stage.party()
  await bare.do('start')
  await ours.do({ do: 'devices' })
  // Another user's, seen by an importer without privileges; where this is no root, one that is not dumpable.
  if (isRoot) {
    await bare.do(`setuid ${NOBODY}`)
    await ours.do({ do: 'setuid', uid: NOBODY })
  } else {
    await bareExporter.do('undumpable')
  }
  const { status, text } = await bare.ask(`open a ${handle}`)
  t.true(status === 'null' || text.includes('UR_RESULT_ERROR_INVALID_ARGUMENT'), text)

  const { error } = await ours.ask({ do: 'openVendor', name: 'x', bytes: handle, nbytes: NBYTES, layout: LAYOUT[stage.adapter], allowPidfd: true })
  t.like(error, { name: 'DriverError', call: 'pidfd_getfd', result: 'EPERM' })
  t.regex(error!.message, /ptrace permission.*FdChannel/)
  await ours.do({ do: 'open', name: 'a', bytes: envelope! }, descriptor)
  t.is((await ours.do({ do: 'read', name: 'a', nbytes: 8 })).bytes, bytesOf(6))
})

const canUnshare = spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0
onBothAdapters("an importer in another pid namespace: the exporter's pid means nothing there, the descriptor does", async (t, stage) => {
  if (!canUnshare) {
    t.log('skipped: unshare --pid is not permitted here')
    t.pass()
    return
  }
  const exporter = stage.party()
  await exporter.do({ do: 'allocate', name: 'a', nbytes: NBYTES, fill: 8 })
  const { envelope, vendor, descriptor } = await exporter.do({ do: 'export', name: 'a' })

  const bare = stage.bare({ pidNamespace: true })
  t.not((await bare.ask(`open a ${vendor}`)).status, 'ok')
  const ours = stage.party({ pidNamespace: true })
  const refused = await ours.ask({ do: 'open', name: 'a', bytes: envelope!, allowPidfd: true })
  t.is(refused.error?.code, 'ERR_USM_IPC_OTHER_PID_NAMESPACE')
  await ours.do({ do: 'open', name: 'a', bytes: envelope! }, descriptor)
  t.is((await ours.do({ do: 'read', name: 'a', nbytes: 8 })).bytes, bytesOf(8))
})

onBothAdapters('equal pids in two containers: the bare runtime takes the exporter for itself and maps its own memory', async (t, stage) => {
  if (!canUnshare) {
    t.log('skipped: unshare --pid is not permitted here')
    t.pass()
    return
  }
  const exporter = stage.bare({ pidNamespace: true })
  await exporter.do(`allocate a ${NBYTES}`)
  await exporter.do(`fill a 1 ${NBYTES}`)
  const handle = new RawHandle(await exporter.do('get a'))
  t.is(handle.pid, 1)

  const bare = stage.bare({ pidNamespace: true })
  await bare.do(`allocate secret ${NBYTES}`)
  await bare.do(`fill secret 99 ${NBYTES}`)
  handle.fd = new RawHandle(await bare.do('get secret')).fd // the same without a change, most often
  await bare.do(`open a ${handle.hex}`)
  t.is(await bare.do('read a 0 8'), bytesOf(99))

  const ourExporter = stage.party({ pidNamespace: true })
  await ourExporter.do({ do: 'allocate', name: 'a', nbytes: NBYTES, fill: 1 })
  const { envelope, vendor, descriptor } = await ourExporter.do({ do: 'export', name: 'a' })
  t.is(new RawHandle(vendor!).pid, 1)
  const ours = stage.party({ pidNamespace: true })
  await ours.do({ do: 'allocate', name: 'secret', nbytes: NBYTES, fill: 99 })
  t.truthy((await ours.ask({ do: 'open', name: 'a', bytes: envelope!, allowPidfd: true })).error)
  await ours.do({ do: 'open', name: 'a', bytes: envelope! }, descriptor)
  t.is((await ours.do({ do: 'read', name: 'a', nbytes: 8 })).bytes, bytesOf(1))
})

onBothAdapters('closing too often: nothing is said by the bare runtime; ours closes once, whoever asks how often', async (t, stage) => {
  const exporter = stage.bare()
  await exporter.do(`allocate a ${NBYTES}`)
  await exporter.do(`fill a 4 ${NBYTES}`)
  const handle = await exporter.do('get a')
  const bare = stage.bare()
  await bare.do(`open a ${handle}`)
  for (let i = 0; i < 3; i++) t.is((await bare.ask('close a')).status, 'ok')

  const ours = stage.party()
  const open = { do: 'openVendor', bytes: handle, nbytes: NBYTES, layout: LAYOUT[stage.adapter], allowPidfd: true } as const
  await ours.do({ ...open, name: 'a' })
  await ours.do({ ...open, name: 'b' })
  for (let i = 0; i < 3; i++) await ours.do({ do: 'close', name: 'a' })
  t.is((await ours.do({ do: 'read', name: 'b', nbytes: 8 })).bytes, bytesOf(4))
  t.like(await ours.do({ do: 'counts' }), { live: 1, resources: 1 })
})

onBothAdapters('host and shared memory: the bare runtime gives handles of it, ours refuses it by name', async (t, stage) => {
  const bare = stage.bare()
  const ours = stage.party()
  for (const usm of ['host', 'shared'] as const) {
    await bare.do(`allocate ${usm} ${NBYTES} ${usm}`)
    t.is((await bare.ask(`get ${usm}`)).status, 'ok')
    const { pointer } = await ours.do({ do: 'allocate', name: usm, nbytes: NBYTES, usm })
    t.is((await ours.ask({ do: 'export', name: usm })).error?.code, 'ERR_USM_IPC_NOT_EXPORTABLE')
    const adopted = await ours.ask({ do: 'adopt', name: 'x', pointer: pointer!, nbytes: NBYTES })
    t.is(adopted.error?.code, 'ERR_USM_IPC_NOT_DEVICE_MEMORY')
  }
  t.is((await ours.ask({ do: 'adopt', name: 'x', pointer: '0x1000', nbytes: 16 })).error?.code, 'ERR_USM_IPC_NOT_DEVICE_MEMORY')
})

onBothAdapters("the driver tells importers a rounded size: what counts is that the claimed range lies in it", async (t, stage) => {
  const exporter = stage.party()
  await exporter.do({ do: 'allocate', name: 'a', nbytes: 10_000 })
  const { envelope, descriptor } = await exporter.do({ do: 'export', name: 'a' })
  const importer = stage.party()
  const opened = await importer.do({ do: 'open', name: 'a', bytes: envelope! }, descriptor)
  t.is(opened.nbytes, 10_000)
  t.is(opened.baseNbytes, 65_536)
})
