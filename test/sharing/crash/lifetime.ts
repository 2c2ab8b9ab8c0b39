/** How long memory, leases and sessions last: one exporter and one importer through all cases, which leave nothing behind. */
import test, { type ExecutionContext } from 'ava'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ExporterLease, SessionLeaseReport } from '../../../host/index.ts'
import type { BackendUnderTest } from '../../contract/types.ts'
import { Parties, Refused, type Party } from './party.ts'
import type { Held } from './protocol.ts'
import { held, holds } from './stage.ts'

/** Longer than any test: who waits for it has failed. */
const FOR_EVER = 100_000

export function testLifetime({ selector, hostAddressable, mappingStaysValid, keepsMappings = 0 }: BackendUnderTest): void {
  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-lifetime-'))
  const parties = new Parties(selector)
  const path = join(folder, 'exporter.sock')
  let exporter: Party
  let importer: Party
  let before: Held[]

  /** At first, and after a case that failed. */
  async function begin(): Promise<void> {
    await exporter?.kill()
    await importer?.kill()
    exporter = parties.start()
    importer = parties.start()
    await exporter.do({ do: 'listen', path })
    // What a process opens once is open from then on.
    await shared('warm', 1)
    await importer.do({ do: 'connect', path })
    await importer.do({ do: 'open', name: 'warm', memory: 'warm' })
    await importer.do({ do: 'close session' })
    await exporter.do({ do: 'unpublish', name: 'warm' })
    await exporter.do({ do: 'close memory', memory: 'warm' })
    before = await Promise.all([exporter, importer].map(held))
  }

  test.before(begin)
  test.after.always(async () => {
    await parties.end()
    rmSync(folder, { recursive: true })
  })

  async function shared(name: string, byte: number, nbytes = 8192): Promise<void> {
    await exporter.do({ do: 'allocate', memory: name, byte, nbytes })
    await exporter.do({ do: 'publish', name, memory: name })
  }

  async function opened(name: string, byte: number, memory = name): Promise<void> {
    await importer.do({ do: 'open', name, memory })
    await reads(memory, byte)
  }

  async function reads(memory: string, ...bytes: number[]): Promise<void> {
    const read = await importer.do<number[]>({ do: 'check', memory })
    if (String(read) !== String(bytes)) throw new Error(`${memory} reads ${String(read)}, not ${String(bytes)}`)
  }

  const leases = async (): Promise<{ id: number; names: readonly string[] }[]> =>
    (await exporter.do<ExporterLease[]>({ do: 'leases' })).map(({ id, names }) => ({ id, names }))

  const lease = <T = { id: number; state: string }>(memory: string): Promise<T> => importer.do<T>({ do: 'lease', memory })

  async function refuses(t: ExecutionContext, promise: Promise<unknown>, code: string): Promise<void> {
    const refusal = await t.throwsAsync(promise, { instanceOf: Refused })
    t.is(refusal?.code, `ERR_USM_IPC_${code}`)
  }

  /** Until the exporter has as many leases. */
  async function leasesLeft(t: ExecutionContext, count: number): Promise<void> {
    let left = (await leases()).length
    for (let i = 0; i < 500 && left !== count; i++) {
      await sleep(5)
      left = (await leases()).length
    }
    t.is(left, count)
  }

  /** Whether it is over within a moment that is long for whatever would end it. */
  const pending = async (promise: Promise<unknown>): Promise<boolean> =>
    (await Promise.race([promise.then(() => 'over'), sleep(100, 'pending')])) === 'pending'

  function lifetime(title: string, run: (t: ExecutionContext) => Promise<void>): void {
    test.serial(`${selector}: ${title}`, async (t) => {
      try {
        await importer.do({ do: 'connect', path })
        await run(t)
        await importer.do({ do: 'close session' })
        await Promise.all([exporter, importer].map((party, i) => holds(t, party, before[i]!, keepsMappings)))
        t.deepEqual(readdirSync(folder), ['exporter.sock'])
      } catch (error) {
        await begin()
        throw error
      }
    })
  }

  lifetime('an allocation outlives its leases, although it is closed and unpublished', async (t) => {
    await shared('x', 1)
    await opened('x', 1)
    await exporter.do({ do: 'close memory', memory: 'x' })
    const unpublished = exporter.do({ do: 'unpublish', name: 'x' })
    t.true(await pending(unpublished))
    await refuses(t, importer.do({ do: 'open', name: 'x', memory: 'again' }), 'NO_SUCH_NAME')
    await reads('x', 1)
    t.like(await lease('x'), { state: 'live', aborted: false, mappingStaysValid })
    t.is((await leases()).length, 1)
    t.is((await exporter.counts()).resources > before[0]!.resources, true, 'the driver\'s memory is still there')
    await importer.do({ do: 'close memory', memory: 'x' })
    await unpublished
    t.deepEqual(await leases(), [])
  })

  lifetime('who gives up waiting for the leases leaves them as they are', async (t) => {
    await shared('x', 1)
    await opened('x', 1)
    const impatient = await t.throwsAsync(exporter.do({ do: 'unpublish', name: 'x', patienceMs: 50 }), { instanceOf: Refused })
    t.regex(impatient?.message ?? '', /TimeoutError/)
    t.is((await leases()).length, 1)
    t.like(await lease('x'), { state: 'live', aborted: false })
    await refuses(t, importer.do({ do: 'open', name: 'x', memory: 'again' }), 'NO_SUCH_NAME')
    await reads('x', 1)
    await importer.do({ do: 'close memory', memory: 'x' })
    await leasesLeft(t, 0)
    await exporter.do({ do: 'close memory', memory: 'x' })
  })

  lifetime('memory may be closed while it is published, and is served all the same', async () => {
    await shared('x', 1)
    await exporter.do({ do: 'close memory', memory: 'x' })
    await opened('x', 1)
    await importer.do({ do: 'close memory', memory: 'x' })
    await opened('x', 1)
    await importer.do({ do: 'close memory', memory: 'x' })
    await exporter.do({ do: 'unpublish', name: 'x' })
  })

  lifetime('a lease ends with the last memory that was opened under it', async (t) => {
    await shared('x', 1)
    for (const memory of ['one', 'two', 'three']) await opened('x', 1, memory)
    t.is((await importer.do<SessionLeaseReport[]>({ do: 'session leases' })).length, 1)
    for (const memory of ['one', 'three']) await importer.do({ do: 'close memory', memory })
    t.is((await leases()).length, 1)
    await reads('two', 1)
    await importer.do({ do: 'close memory', memory: 'two' })
    await leasesLeft(t, 0)
    await exporter.do({ do: 'unpublish', name: 'x' })
    await exporter.do({ do: 'close memory', memory: 'x' })
  })

  lifetime('a revocation: notice, and over as soon as the importer has closed', async (t) => {
    await shared('x', 1)
    await opened('x', 1)
    const mark = importer.events.length
    const unpublished = exporter.do({ do: 'unpublish', name: 'x', revoke: true, graceMs: FOR_EVER })
    t.like(await importer.event({ event: 'revoked' }, mark), { name: 'x', graceMs: FOR_EVER })
    t.like(await lease('x'), { state: 'revoked', aborted: true, reason: 'ERR_USM_IPC_REVOKED', mappingStaysValid })
    await refuses(t, importer.do({ do: 'open', name: 'x', memory: 'again' }), 'NO_SUCH_NAME')
    t.true(await pending(unpublished))
    await reads('x', 1)
    await importer.do({ do: 'close memory', memory: 'x' })
    await unpublished
    await exporter.do({ do: 'close memory', memory: 'x' })
  })

  lifetime('a revocation: over when the grace is, and the mapping reads right until it is closed', async (t) => {
    await shared('x', 1)
    await opened('x', 1)
    const started = performance.now()
    await exporter.do({ do: 'unpublish', name: 'x', revoke: true, graceMs: 300 })
    t.true(performance.now() - started >= 290)
    t.deepEqual(await leases(), [])
    await exporter.do({ do: 'close memory', memory: 'x' })
    await exporter.do({ do: 'allocate', memory: 'other', byte: 7, nbytes: 8192 })
    t.like(await lease('x'), { state: 'revoked' })
    await reads('x', 1)
    // Its release comes late, which is no offence: the session goes on.
    await importer.do({ do: 'close memory', memory: 'x' })
    t.deepEqual(await importer.do({ do: 'list' }), [])
    t.like(await importer.do({ do: 'session' }), { isClosed: false })
    await exporter.do({ do: 'close memory', memory: 'other' })
  })

  lifetime('the name of a part of an arena ends alone', async (t) => {
    await exporter.do({ do: 'allocate', memory: 'arena', byte: 3, nbytes: 8192 })
    await exporter.do({ do: 'publish', name: 'a', memory: 'arena', nbytes: 4096 })
    await exporter.do({ do: 'publish', name: 'b', memory: 'arena', offset: 4096 })
    await opened('a', 3)
    await opened('b', 3)
    const [only, ...others] = await leases()
    t.deepEqual([only!.names.toSorted(), others.length], [['a', 'b'], 0])
    const mark = importer.events.length
    await exporter.do({ do: 'unpublish', name: 'a', revoke: true, graceMs: 50 })
    await importer.event({ event: 'revoked', name: 'a' }, mark)
    t.like(await lease('a'), { state: 'revoked', aborted: true })
    t.like(await lease('b'), { state: 'live', aborted: false })
    t.is((await leases())[0]!.id, only!.id)
    await refuses(t, importer.do({ do: 'open', name: 'a', memory: 'again' }), 'NO_SUCH_NAME')
    await opened('b', 3, 'again')
    await importer.do({ do: 'close memory', memory: 'a' })
    await importer.do({ do: 'close memory', memory: 'again' })
    await importer.do({ do: 'close memory', memory: 'b' })
    await leasesLeft(t, 0)
    await exporter.do({ do: 'unpublish', name: 'b' })
    await exporter.do({ do: 'close memory', memory: 'arena' })
  })

  lifetime('after its ttl a name is not served, while leases that were taken go on', async (t) => {
    await exporter.do({ do: 'allocate', memory: 'x', byte: 1, nbytes: 4096 })
    await exporter.do({ do: 'publish', name: 'x', memory: 'x', ttl: 400 })
    await opened('x', 1)
    for (let i = 0; i < 500 && (await importer.do<string[]>({ do: 'list' })).length > 0; i++) await sleep(5)
    t.deepEqual(await importer.do({ do: 'list' }), [])
    // Not from what is cached, either.
    await refuses(t, importer.do({ do: 'open', name: 'x', memory: 'again' }), 'NO_SUCH_NAME')
    t.like(await lease('x'), { state: 'live', aborted: false })
    await reads('x', 1)
    t.is((await leases()).length, 1)
    await exporter.do({ do: 'close memory', memory: 'x' })
    await reads('x', 1)
    await importer.do({ do: 'close memory', memory: 'x' })
    await leasesLeft(t, 0)
  })

  lifetime('what is published under the same name again is another lease on other memory', async (t) => {
    await shared('x', 1)
    await opened('x', 1, 'first')
    const unpublished = exporter.do({ do: 'unpublish', name: 'x' })
    await exporter.do({ do: 'close memory', memory: 'x' })
    await shared('x', 2)
    // The notice that the name was withdrawn is before the answer to this.
    await importer.do({ do: 'list' })
    await opened('x', 2, 'second')
    await reads('first', 1)
    const [first, second] = [await lease('first'), await lease('second')]
    t.not(first.id, second.id)
    t.deepEqual([first.state, second.state], ['live', 'live'])
    t.true(await pending(unpublished))
    await importer.do({ do: 'close memory', memory: 'first' })
    await unpublished
    t.like(await lease('second'), { state: 'live' })
    await importer.do({ do: 'close memory', memory: 'second' })
    await exporter.do({ do: 'unpublish', name: 'x' })
    await exporter.do({ do: 'close memory', memory: 'x' })
  })

  lifetime('an importer that never opens, and one that changes its mind, hold no lease', async (t) => {
    await shared('x', 1)
    t.deepEqual(await importer.do({ do: 'list' }), ['x'])
    t.deepEqual(await leases(), [])
    for (let i = 0; i < 20; i++) t.is(await importer.do<string>({ do: 'open and abort', name: 'x' }), 'changed my mind')
    await importer.do({ do: 'list' }) // answered after all of them
    await leasesLeft(t, 0)
    await opened('x', 1)
    await importer.do({ do: 'close memory', memory: 'x' })
    await exporter.do({ do: 'unpublish', name: 'x' })
    await exporter.do({ do: 'close memory', memory: 'x' })
  })

  if (hostAddressable) {
    lifetime('a view keeps the lease until it is collected', async (t) => {
      await shared('x', 1)
      await opened('x', 1)
      await importer.do({ do: 'view', memory: 'x' })
      await importer.do({ do: 'close memory', memory: 'x' })
      const unpublished = exporter.do({ do: 'unpublish', name: 'x' })
      await importer.do({ do: 'collect' })
      t.true(await pending(unpublished))
      t.is((await leases()).length, 1)
      t.deepEqual(await importer.do({ do: 'check views' }), [1])
      await importer.do({ do: 'forget views' })
      await importer.do({ do: 'collect' })
      await unpublished
      await exporter.do({ do: 'close memory', memory: 'x' })
    })

    lifetime('a view is good after the session is closed, which ends the lease', async (t) => {
      await shared('x', 1)
      await opened('x', 1)
      await importer.do({ do: 'view', memory: 'x' })
      await importer.do({ do: 'close session' })
      await leasesLeft(t, 0)
      await exporter.do({ do: 'unpublish', name: 'x' })
      await exporter.do({ do: 'close memory', memory: 'x' })
      t.deepEqual(await importer.do({ do: 'check views' }), [1])
      await importer.do({ do: 'forget views' })
      await importer.do({ do: 'forget memory', memory: 'x' })
      await importer.do({ do: 'collect' })
      await importer.do({ do: 'connect', path })
    })
  }

  lifetime('memories that are collected end the lease', async (t) => {
    await shared('x', 1)
    for (const memory of ['one', 'two']) await opened('x', 1, memory)
    await importer.do({ do: 'forget memory', memory: 'one' })
    await importer.do({ do: 'collect' })
    const unpublished = exporter.do({ do: 'unpublish', name: 'x' })
    t.true(await pending(unpublished))
    await importer.do({ do: 'forget memory', memory: 'two' })
    await importer.do({ do: 'collect' })
    await unpublished
    t.deepEqual(await importer.do({ do: 'session leases' }), [])
    await exporter.do({ do: 'close memory', memory: 'x' })
  })

  lifetime('closing a session closes what was opened through it', async (t) => {
    await shared('x', 1)
    await shared('y', 2)
    await importer.do({ do: 'connect', path, session: 'other' })
    await importer.do({ do: 'open', name: 'x', memory: 'x', session: 'other' })
    await importer.do({ do: 'open', name: 'y', memory: 'y', session: 'other' })
    t.is((await leases()).length, 2)
    const mark = importer.events.length
    await importer.do({ do: 'close session', session: 'other' })
    await importer.event({ event: 'close', session: 'other' }, mark)
    for (const memory of ['x', 'y']) {
      await refuses(t, importer.do({ do: 'check', memory }), 'CLOSED')
      t.like(await lease(memory), { state: 'released' })
      await importer.do({ do: 'close memory', memory })
    }
    await leasesLeft(t, 0)
    t.false(importer.events.slice(mark).some(({ event }) => event === 'exporterGone'))
    for (const name of ['x', 'y']) {
      await exporter.do({ do: 'unpublish', name })
      await exporter.do({ do: 'close memory', memory: name })
    }
  })

  lifetime('a session that is closed while requests are under way answers all of them', async (t) => {
    await shared('x', 1)
    await importer.do({ do: 'connect', path, session: 'other' })
    t.deepEqual(await importer.do({ do: 'ask and close', name: 'x', session: 'other' }), Array(4).fill('ERR_USM_IPC_CLOSED'))
    await importer.do({ do: 'close session', session: 'other' })
    await leasesLeft(t, 0)
    await exporter.do({ do: 'unpublish', name: 'x' })
    await exporter.do({ do: 'close memory', memory: 'x' })
  })

  /** A second exporter, which the case may end. */
  async function another(name: string, byte: number): Promise<{ party: Party; at: string }> {
    const party = parties.fresh()
    const at = join(folder, 'another.sock')
    await party.do({ do: 'listen', path: at })
    await party.do({ do: 'allocate', memory: name, byte })
    await party.do({ do: 'publish', name, memory: name })
    return { party, at }
  }

  const end = async (t: ExecutionContext, party: Party): Promise<void> => {
    t.like(await party.counts(), { live: 0, claims: 0, resources: 0, memfds: 0 })
    await party.kill()
  }

  lifetime('an exporter that is closed asks, waits for whoever closes, and is gone', async (t) => {
    const { party, at } = await another('x', 5)
    await importer.do({ do: 'connect', path: at, session: 'other' })
    await importer.do({ do: 'open', name: 'x', memory: 'x', session: 'other' })
    const mark = importer.events.length
    const closed = party.do({ do: 'close exporter', graceMs: FOR_EVER })
    await importer.event({ event: 'revoked', session: 'other' }, mark)
    t.true(await pending(closed))
    await refuses(t, importer.do({ do: 'connect', path: at, session: 'late' }), 'NO_LISTENER')
    await importer.do({ do: 'close memory', memory: 'x' })
    await closed
    await importer.event({ event: 'exporterGone', session: 'other' }, mark)
    t.like(await importer.do({ do: 'session', session: 'other' }), { isClosed: true, aborted: true, reason: 'ERR_USM_IPC_EXPORTER_GONE' })
    await importer.do({ do: 'close session', session: 'other' })
    await party.do({ do: 'close memory', memory: 'x' })
    await end(t, party)
  })

  lifetime('an exporter that is closed does not wait longer than its grace; mappings stay', async (t) => {
    const { party, at } = await another('x', 5)
    await importer.do({ do: 'connect', path: at, session: 'other' })
    await importer.do({ do: 'open', name: 'x', memory: 'x', session: 'other' })
    const mark = importer.events.length
    await party.do({ do: 'close exporter', graceMs: 100 })
    await importer.event({ event: 'exporterGone', session: 'other' }, mark)
    await party.do({ do: 'close memory', memory: 'x' })
    await end(t, party)
    await reads('x', 5)
    t.like(await lease('x'), { mappingStaysValid, aborted: true })
    await importer.do({ do: 'close memory', memory: 'x' })
    await importer.do({ do: 'close session', session: 'other' })
  })

  lifetime('an exporter that is closed while requests are under way: each is answered', async (t) => {
    const { party, at } = await another('x', 5)
    await importer.do({ do: 'connect', path: at, session: 'other' })
    const asked = Array.from({ length: 30 }, (_, i) => importer.do({ do: 'open', name: 'x', memory: `x ${i}`, session: 'other' }).then(() => 'ok', codeOf))
    const closed = party.do({ do: 'close exporter', graceMs: 100 })
    const known = ['ok', 'ERR_USM_IPC_EXPORTER_GONE', 'ERR_USM_IPC_CLOSING', 'ERR_USM_IPC_NO_SUCH_NAME']
    const outcomes = await Promise.all(asked)
    t.deepEqual(outcomes.filter((one) => !known.includes(one)), [])
    await closed
    for (const [i, one] of outcomes.entries()) if (one === 'ok') await importer.do({ do: 'close memory', memory: `x ${i}` })
    await importer.do({ do: 'close session', session: 'other' })
    await party.do({ do: 'close memory', memory: 'x' })
    await end(t, party)
  })

  lifetime('an exporter that is closed while sessions connect: each is answered', async (t) => {
    const { party, at } = await another('x', 5)
    const outcomes = await party.do<string[]>({ do: 'connect and close exporter', path: at, sessions: 100 })
    t.is(outcomes.length, 100)
    t.is(outcomes[0], 'ok')
    const known = ['ok', 'ERR_USM_IPC_EXPORTER_GONE', 'ERR_USM_IPC_NO_LISTENER']
    t.deepEqual(outcomes.filter((one) => !known.includes(one)), [])
    await party.do({ do: 'close memory', memory: 'x' })
    await end(t, party)
  })

  lifetime('a worker that is terminated holds nothing any more', async (t) => {
    await shared('x', 1)
    const party = parties.fresh()
    for (let i = 0; i < 2; i++) {
      const start = await held(party)
      await party.do({ do: 'start worker', task: { role: 'importer', path, name: 'x' } })
      t.is((await leases()).length, 1)
      await party.do({ do: 'terminate worker' })
      await leasesLeft(t, 0)
      // The first one loads what a process has once.
      if (i === 1) await holds(t, party, start, keepsMappings)
    }
    await exporter.do({ do: 'unpublish', name: 'x' })
    await exporter.do({ do: 'close memory', memory: 'x' })
    await party.kill()
  })

  lifetime('a worker that exports is terminated: its importers are told, and read on', async (t) => {
    const party = parties.fresh()
    const at = join(folder, 'worker.sock')
    const start = await held(party)
    await party.do({ do: 'start worker', task: { role: 'exporter', path: at, name: 'w', device: selector } })
    await importer.do({ do: 'connect', path: at, session: 'other' })
    await importer.do({ do: 'open', name: 'w', memory: 'w', session: 'other' })
    const mark = importer.events.length
    await party.do({ do: 'terminate worker' })
    await importer.event({ event: 'exporterGone', session: 'other' }, mark)
    await reads('w', 1)
    t.like(await lease('w'), { state: 'exporter-gone' })
    await importer.do({ do: 'close memory', memory: 'w' })
    await importer.do({ do: 'close session', session: 'other' })
    t.like(await party.counts(), { claims: start.claims, resources: start.resources, memfds: start.memfds })
    await party.kill()
  })

  for (const how of ['process.exit', 'SIGTERM', 'its last line'] as const) {
    lifetime(`an importer ends by ${how} with everything open`, async (t) => {
      await shared('x', 1)
      const party = parties.fresh()
      await party.do({ do: 'connect', path })
      await party.do({ do: 'open', name: 'x', memory: 'x' })
      t.is((await leases()).length, 1)
      t.deepEqual(await ends(party, how), how === 'SIGTERM' ? [null, 'SIGTERM', ''] : [how === 'process.exit' ? 3 : 0, null, ''])
      await leasesLeft(t, 0)
      await exporter.do({ do: 'unpublish', name: 'x' })
      await exporter.do({ do: 'close memory', memory: 'x' })
    })
  }

  for (const how of ['process.exit', 'SIGTERM'] as const) {
    lifetime(`an exporter ends by ${how} with everything open`, async (t) => {
      const { party, at } = await another('x', 5)
      await importer.do({ do: 'connect', path: at, session: 'other' })
      await importer.do({ do: 'open', name: 'x', memory: 'x', session: 'other' })
      const mark = importer.events.length
      t.deepEqual(await ends(party, how), how === 'SIGTERM' ? [null, 'SIGTERM', ''] : [3, null, ''])
      await importer.event({ event: 'exporterGone', session: 'other' }, mark)
      await reads('x', 5)
      await importer.do({ do: 'close memory', memory: 'x' })
      await importer.do({ do: 'close session', session: 'other' })
      // Whatever it left there is replaced.
      const next = await another('x', 6)
      await importer.do({ do: 'connect', path: at, session: 'next' })
      await importer.do({ do: 'close session', session: 'next' })
      await next.party.do({ do: 'close exporter' })
      await next.party.kill()
    })
  }

  async function ends(party: Party, how: 'process.exit' | 'SIGTERM' | 'its last line'): Promise<unknown[]> {
    if (how === 'SIGTERM') party.child.process.kill('SIGTERM')
    else void party.do(how === 'process.exit' ? { do: 'exit', code: 3 } : { do: 'finish' }).catch(() => {})
    const { exit } = await party.death()
    return [exit.code, exit.signal, exit.stderr]
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof Refused)) throw error
  return error.code
}
