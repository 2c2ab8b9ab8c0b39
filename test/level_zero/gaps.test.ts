/**
 * What goes wrong with bare Level Zero handles, and what becomes of it here: each case is shown twice, with programs over
 * the loader alone, and with the package. For each form of handles that Intel's drivers have given.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import test, { type ExecutionContext } from 'ava'
import { Descriptor } from '../../host/index.ts'
import { addon } from '../../host/addon.ts'
import { decode, encode } from '../support/child.ts'
import { HEADER } from '../../host/core/index.ts'
import { forged, handleAt } from '../support/forge.ts'
import { compile, type Program } from './compile.ts'
import { bare, bytesOf, fdOf, fromHex, party, toHex, withFields, type Bare, type Form, type Party } from './party.ts'
import type { Answer } from './protocol.ts'
import { softwareDriverFolder } from './software_driver.ts'

const FORMS: Form[] = ['classic', 'opaque', 'opaque-mirror']
const USERS = { exporter: 54_321, importer: 54_322 }
const isRoot = process.getuid?.() === 0

let program: Program
test.before(() => {
  addon() // The descriptors that travel through this process are its.
  program = compile(['test/level_zero/bare.cc'])
})
test.after.always(() => program.remove())

/** Everything that a case starts ends with it. */
function start(t: ExecutionContext, form: Form) {
  const loader = `${softwareDriverFolder()}/libze_loader.so.1`
  return {
    bare(options: { uid?: number } = {}): Bare {
      const started = bare(program.path, loader, form, options)
      t.teardown(() => started.end())
      return started
    },
    party(options: { uid?: number } = {}): Party {
      const started = party(form, options)
      t.teardown(() => started.kill())
      return started
    },
  }
}

/** As a program must that imports by a driver of this form: a classic handle holds a number of the importer's own. */
async function bareOpen(importer: Bare, name: string, handle: string, exporter: number, form: Form): Promise<{ ok: string } | { error: string }> {
  if (form !== 'classic') return importer.ask(`open ${name} ${handle}`)
  const raw = fromHex(handle)
  const fetched = await importer.ask(`fetch ${exporter} ${fdOf(raw)}`)
  if ('error' in fetched) return fetched
  return importer.ask(`open ${name} ${toHex(withFields(raw, { fd: Number(fetched.ok) }, form))}`)
}

/**
 * An export whose memory was freed: its descriptor's number is another memory's by now, or nobody's. The lowest number
 * that is free is the next one; but the runtime opens files, too.
 */
async function freed(exporter: Party, by: 'reused' | 'nobody'): Promise<Exported> {
  for (let i = 0; i < 10; i++) {
    const stale = await exportOf(exporter, 'stale', 1)
    await exporter.do({ do: 'free', name: 'stale' })
    if (by === 'reused') (await exportOf(exporter, `new${i}`, 2)).descriptor.close()
    const link = linkOf(exporter.pid, fdOf(bytesOf(stale)))
    if (by === 'reused' ? link.startsWith('/memfd:') : link === '') return stale
    stale.descriptor.close()
  }
  throw new Error('the runtime takes each descriptor')
}

function linkOf(pid: number, fd: number): string {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`)
  } catch {
    return ''
  }
}

type Exported = Answer & { descriptor: Descriptor }

async function exportOf(exporter: Party, name: string, value: number): Promise<Exported> {
  await exporter.do({ do: 'allocate', name, value })
  const exported = await exporter.do({ do: 'export', name })
  if (exported.descriptor === undefined) throw new Error(`nothing came beside ${name}: ${exported.error?.message}`)
  // What a channel has received ends with the channel, and this is to outlive its exporter.
  const descriptor = Descriptor.duplicate(exported.descriptor.number)
  exported.descriptor.close()
  return { ...exported, descriptor }
}

/** Is it that error, and was nothing left behind? */
async function refuses(t: ExecutionContext, importer: Party, answer: Answer, code: string, says: RegExp): Promise<void> {
  t.is(answer.error?.code, `ERR_USM_IPC_${code}`, JSON.stringify(answer))
  t.regex(answer.error?.message ?? '', says)
  t.deepEqual((await importer.do({ do: 'books' })).books, { live: 0, claims: 0, resources: 0, descriptors: 0 })
}

async function reads(t: ExecutionContext, importer: Party, name: string, value: number): Promise<void> {
  t.is((await importer.do({ do: 'read', name })).value, value)
}

for (const form of FORMS) {
  test.serial(`${form}: a reused descriptor`, async (t) => {
    const { bare, party } = start(t, form)
    const [from, to] = [bare(), bare()]
    await from.must('alloc a 4096 1')
    const stale = await from.must('get a')
    await from.must('free a')
    await from.must('alloc b 4096 2')
    t.is(fdOf(fromHex(await from.must('get b'))), fdOf(fromHex(stale)))
    t.deepEqual(await bareOpen(to, 'a', stale, from.pid, form), { ok: '' })
    t.is(await to.must('read a'), '2', 'bare: what the handle names is another memory by now, and nobody notices')

    const [exporter, importer] = [party(), party()]
    const { envelope, descriptor } = await freed(exporter, 'reused')
    descriptor.close()
    await refuses(t, importer, await importer.do({ do: 'open', name: 'a', envelope: envelope!, by: 'pidfd' }), 'DESCRIPTOR_FOREIGN', /another memfd/)
  })

  test.serial(`${form}: a stale handle`, async (t) => {
    const { bare, party } = start(t, form)
    const [from, to] = [bare(), bare()]
    await from.must('alloc a 4096 1')
    const handle = await from.must('get a')
    await from.must('free a')
    t.deepEqual(await bareOpen(to, 'a', handle, from.pid, form), form === 'classic' ? { error: '0x9' } : { error: '0x78000004' }, 'bare: a number')

    const [exporter, importer] = [party(), party()]
    let stale = await freed(exporter, 'nobody')
    const fetch = async (): Promise<Answer> => importer.do({ do: 'open', name: 'a', envelope: stale.envelope!, by: 'pidfd' })
    let byPidfd = await fetch()
    // The runtime has opened a file meanwhile, which is refused as well; but it is not what is to be shown.
    for (let i = 0; i < 10 && byPidfd.error?.code === 'ERR_USM_IPC_DESCRIPTOR_WRONG_KIND'; i++) {
      stale.descriptor.close()
      stale = await freed(exporter, 'nobody')
      byPidfd = await fetch()
    }
    const { envelope, descriptor } = stale
    await refuses(t, importer, byPidfd, 'SYSTEM_CALL_FAILED', /pidfd_getfd failed: EBADF.*the exporter has closed that descriptor/)
    t.deepEqual([byPidfd.error?.call, byPidfd.error?.result], ['pidfd_getfd', 'EBADF'])
    await refuses(t, importer, await importer.do({ do: 'open', name: 'a', envelope: envelope!, by: 'nothing' }), 'DESCRIPTOR_MISSING', /FdChannel/)
    // Who was given the descriptor while the memory lived has the memory: that its exporter has freed it, only a session could tell.
    const opened = await importer.do({ do: 'open', name: 'a', envelope: envelope!, by: 'channel' }, descriptor)
    t.is(opened.path, 'mapped')
    t.true(opened.unchecked!.some((what) => /liveness/.test(what)), String(opened.unchecked))
    await reads(t, importer, 'a', 1)
    descriptor.close()
  })

  test.serial(`${form}: an address that is used again, while the old memory is mapped`, async (t) => {
    const { bare, party } = start(t, form)
    const [from, to] = [bare(), bare()]
    const address = await from.must('alloc a 4096 1')
    t.deepEqual(await bareOpen(to, 'a', await from.must('get a'), from.pid, form), { ok: '' })
    await from.must('free a')
    t.is(await from.must('alloc b 4096 2'), address)
    t.deepEqual(await bareOpen(to, 'b', await from.must('get b'), from.pid, form), { ok: '' })
    t.deepEqual([await to.must('read a'), await to.must('read b')], ['1', '2'], 'bare: both are right; it is caches above the driver that err')

    const [exporter, importer] = [party(), party()]
    const first = await exportOf(exporter, 'a', 1)
    await exporter.do({ do: 'read', name: 'a' })
    t.is((await importer.do({ do: 'open', name: 'a', envelope: first.envelope!, by: 'channel' }, first.descriptor)).path, 'mapped')
    await exporter.do({ do: 'free', name: 'a' })
    const second = await exportOf(exporter, 'b', 2)
    t.is((await importer.do({ do: 'open', name: 'b', envelope: second.envelope!, by: 'channel' }, second.descriptor)).path, 'mapped')
    await reads(t, importer, 'a', 1)
    await reads(t, importer, 'b', 2)
    for (const { descriptor } of [first, second]) descriptor.close()
  })

  test.serial(`${form}: a handle that names the importer itself`, async (t) => {
    const { bare, party } = start(t, form)
    const [from, to] = [bare(), bare()]
    await from.must('alloc a 4096 1')
    const secret = Number(await to.must('memfd 65536 99'))
    const lie = withFields(fromHex(await from.must('get a')), { pid: to.pid, fd: secret }, form)
    t.deepEqual(await to.ask(`open a ${toHex(lie)}`), { ok: '' })
    t.is(await to.must('read a'), '99', "bare: the importer's own private file is mapped, for whoever is shown it")

    const [exporter, importer] = [party(), party()]
    const real = await exportOf(exporter, 'a', 1)
    const { fd } = await importer.do({ do: 'private', value: 99 })
    const held = (await importer.do({ do: 'books' })).books!
    const raw = withFields(bytesOf(real), { pid: importer.pid, fd: fd! }, form)
    const layout = form === 'classic' ? 'level-zero-classic' : 'level-zero-opaque'
    const nothing = await importer.do({ do: 'openVendor', name: 'a', raw: encode(raw), layout, by: 'nothing' })
    t.is(nothing.error?.code, 'ERR_USM_IPC_DESCRIPTOR_MISSING', JSON.stringify(nothing))
    const byPidfd = await importer.do({ do: 'openVendor', name: 'a', raw: encode(raw), layout, by: 'pidfd' })
    t.is(byPidfd.error?.code, form === 'classic' ? 'ERR_USM_IPC_INVALID_OPTIONS' : 'ERR_USM_IPC_NAMES_THIS_PROCESS', JSON.stringify(byPidfd))
    t.deepEqual((await importer.do({ do: 'books' })).books, held)
    // The descriptor that came beside it is what is opened, whatever the handle says.
    const given = await importer.do({ do: 'openVendor', name: 'a', raw: encode(raw), layout, by: 'given' }, real.descriptor)
    t.is(given.path, 'mapped', JSON.stringify(given))
    await reads(t, importer, 'a', 1)
    // In an envelope too: its pid and its handle's are the importer's, with its start time or another's.
    for (const [startTime, code] of [[startTimeOf(importer.pid), 'DESCRIPTOR_MISSING'], [1n, 'EXPORTER_GONE']] as const) {
      const envelope = lying(decode(real.envelope!), form, importer.pid, fd!, startTime)
      const answer = await importer.do({ do: 'open', name: 'b', envelope: encode(envelope), by: 'pidfd' })
      t.is(answer.error?.code, `ERR_USM_IPC_${code}`, JSON.stringify(answer))
    }
    real.descriptor.close()
  })

  test.serial(`${form}: a handle that names a third process`, async (t) => {
    const { bare, party } = start(t, form)
    const [from, third, to] = [bare(), bare(), bare()]
    await from.must('alloc a 4096 1')
    const secret = Number(await third.must('memfd 65536 99'))
    const lie = toHex(withFields(fromHex(await from.must('get a')), { pid: third.pid, fd: secret }, form))
    t.deepEqual(await bareOpen(to, 'a', lie, third.pid, form), { ok: '' })
    t.is(await to.must('read a'), '99', "bare: a third process's private file is mapped")

    const exporter = party()
    const real = await exportOf(exporter, 'a', 1)
    const [other, importer] = [party(), party()] // later: with another start time
    const { fd } = await other.do({ do: 'private', value: 99 })
    const lied = encode(lying(decode(real.envelope!), form, other.pid, fd!))
    // It is not the process that the envelope was sealed in; and were the start time forged as well, not the exported file.
    await refuses(t, importer, await importer.do({ do: 'open', name: 'a', envelope: lied, by: 'pidfd' }), 'EXPORTER_GONE', /may have been reused/)
    const theirs = await exportOf(other, 'b', 2)
    const started = new DataView(decode(theirs.envelope!).buffer).getBigUint64(HEADER.start_time, true)
    const whole = encode(forged(decode(lied), (view) => view.setBigUint64(HEADER.start_time, started, true)))
    await refuses(t, importer, await importer.do({ do: 'open', name: 'a', envelope: whole, by: 'pidfd' }), 'DESCRIPTOR_FOREIGN', /another memfd/)
    // A descriptor that was sent is the one to be opened: the right one is, another is not.
    const sent = await importer.do({ do: 'open', name: 'a', envelope: lied, by: 'channel' }, real.descriptor)
    t.is(sent.path, 'mapped', JSON.stringify(sent))
    await reads(t, importer, 'a', 1)
    for (const { descriptor } of [real, theirs]) descriptor.close()
  })

  test.serial(`${form}: an exporter under another uid`, async (t) => {
    if (!isRoot) {
      t.log('skipped: only root starts processes of other users')
      t.pass()
      return
    }
    const { bare, party } = start(t, form)
    const [from, to] = [bare({ uid: USERS.exporter }), bare({ uid: USERS.importer })]
    await from.must('alloc a 4096 1')
    const refused = await bareOpen(to, 'a', await from.must('get a'), from.pid, form)
    t.deepEqual(refused, { error: form === 'classic' ? '0x1' : '0x78000004' }, 'bare: no permission, told as an invalid argument')

    const [exporter, importer] = [party({ uid: USERS.exporter }), party({ uid: USERS.importer })]
    const real = await exportOf(exporter, 'a', 1)
    const byPidfd = await importer.do({ do: 'open', name: 'a', envelope: real.envelope!, by: 'pidfd' })
    await refuses(t, importer, byPidfd, 'SYSTEM_CALL_FAILED', /needs ptrace permission over the exporter.*another user's/)
    t.is(byPidfd.error?.name, 'DriverError')
    t.true(['EPERM', 'EACCES'].includes(byPidfd.error!.result!))
    const sent = await importer.do({ do: 'open', name: 'a', envelope: real.envelope!, by: 'channel' }, real.descriptor)
    t.is(sent.path, 'mapped', JSON.stringify(sent))
    await reads(t, importer, 'a', 1)
    real.descriptor.close()
  })

  test.serial(`${form}: a killed exporter`, async (t) => {
    const { bare, party } = start(t, form)
    const [from, to] = [bare(), bare()]
    await from.must('alloc a 4096 1')
    const handle = await from.must('get a')
    await from.end()
    t.deepEqual(await bareOpen(to, 'a', handle, from.pid, form), { error: form === 'classic' ? '0x3' : '0x78000004' })

    const [exporter, importer, late] = [party(), party(), party()]
    const real = await exportOf(exporter, 'a', 1)
    t.is((await importer.do({ do: 'open', name: 'a', envelope: real.envelope!, by: 'pidfd' })).path, 'mapped')
    await exporter.kill()
    await reads(t, importer, 'a', 1)
    t.is((await importer.do({ do: 'open', name: 'again', envelope: real.envelope!, by: 'pidfd' })).path, 'cached')
    await refuses(t, late, await late.do({ do: 'open', name: 'a', envelope: real.envelope!, by: 'pidfd' }), 'EXPORTER_GONE', /is gone/)
    const sent = await late.do({ do: 'open', name: 'a', envelope: real.envelope!, by: 'channel' }, real.descriptor)
    t.is(sent.path, 'mapped', JSON.stringify(sent))
    await reads(t, late, 'a', 1)
    real.descriptor.close()
  })
}

/** The envelope as its exporter's pid and its handle's pid and descriptor lie, with all checksums right. */
function startTimeOf(pid: number): bigint {
  return BigInt(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, 'x').split(' ')[20]!)
}

function lying(envelope: Uint8Array, form: Form, pid: number, fd: number, startTime?: bigint): Uint8Array {
  return forged(envelope, (view, bytes) => {
    view.setUint32(HEADER.pid, pid, true)
    if (startTime !== undefined) view.setBigUint64(HEADER.start_time, startTime, true)
    const at = handleAt(bytes)
    bytes.set(withFields(bytes.slice(at, at + 64), { pid, fd }, form), at)
  })
}
