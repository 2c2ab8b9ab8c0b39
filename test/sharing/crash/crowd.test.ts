/** 500 importers in 50 processes, of which 10 are killed: the exporter is as it was before. */
import test from 'ava'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExporterLease } from '../../../host/index.ts'
import { Parties, type Party } from './party.ts'
import { held, holds } from './stage.ts'

const PROCESSES = 50
const SESSIONS = 10
const KILLED = 10
/** Processes that start at a time. */
const STARTING = 4
/** What a heap may have grown by in the noise, in bytes. Megabytes for each importer would be hundreds of these. */
const NOISE = 32 * 2 ** 20
/** A sanitizer is slow and keeps what was freed for a while: neither time nor memory says anything then. */
const isSanitized = process.env['USM_IPC_SANITIZED'] !== undefined

const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-crowd-'))
const parties = new Parties('host')
test.after.always(async () => {
  await parties.end()
  rmSync(folder, { recursive: true })
})

test('500 importers in 50 processes attach, 10 of the processes are killed', async (t) => {
  const path = join(folder, 'exporter.sock')
  const started = performance.now()
  const exporter = parties.start({ execArgv: ['--expose-gc'] })
  await exporter.do({ do: 'allocate', memory: 'weights', nbytes: 2 ** 20, byte: 1 })
  await exporter.do({ do: 'listen', path })
  await exporter.do({ do: 'publish', name: 'weights', memory: 'weights' })
  const attach = async (party: Party): Promise<void> =>
    party.do({ do: 'open many', path, sessions: SESSIONS, name: 'weights' })
  const rss = async (): Promise<number> => {
    await exporter.do({ do: 'collect' })
    return (await exporter.counts()).rss
  }

  // What an exporter opens once is open from then on: descriptors of the export, code, heap.
  const first = parties.start()
  await attach(first)
  await first.kill()
  await goneAll(exporter, first)
  const before = await held(exporter)
  t.is(before.leases, 0)
  const rssBefore = await rss()

  const crowd: Party[] = []
  await Promise.all(Array.from({ length: STARTING }, async () => {
    while (crowd.length < PROCESSES) {
      const party = parties.start()
      crowd.push(party)
      await attach(party)
    }
  }))
  t.is(crowd.length, PROCESSES)
  const attached = performance.now()
  const leases = (await exporter.counts()).leases
  t.is(leases, PROCESSES * SESSIONS)
  const most = await exporter.counts()
  t.log(`${leases} leases: ${most.descriptors - before.descriptors} descriptors and ${((most.rss - rssBefore) / leases / 1024).toFixed(1)} KiB a lease more`)

  const killed = crowd.slice(0, KILLED)
  await Promise.all(killed.map((party) => party.kill()))
  await Promise.all(killed.map((party) => goneAll(exporter, party)))
  // Each connection has its socket and its hold on the process, each lease a claim.
  const left = (PROCESSES - KILLED) * SESSIONS
  await holds(t, exporter, {
    ...before, descriptors: before.descriptors + ((most.descriptors - before.descriptors) / leases) * left,
    live: before.live + left, claims: before.claims + left, leases: left,
  })
  // The others go on, and leave in order or as they like.
  for (const [i, party] of crowd.slice(KILLED).entries()) {
    t.deepEqual(await party.do({ do: 'check', memory: 'memory 3' }), [1])
    t.deepEqual(await party.do({ do: 'list', session: 'session 4' }), ['weights'])
    await party.do({ do: 'close memory', memory: 'memory 0' })
    await party.do({ do: 'close session', session: 'session 1' })
    const [end, how] = i % 3 === 0 ? ['exit', party.do({ do: 'exit', code: 0 })] as const
      : i % 3 === 1 ? ['SIGTERM', party.kill('SIGTERM')] as const : ['SIGKILL', party.kill()] as const
    await how.catch(() => {})
    const exit = await party.child.exited
    t.is(end === 'exit' ? String(exit.code) : exit.signal, end === 'exit' ? '0' : end)
  }
  await holds(t, exporter, before)
  t.deepEqual(await exporter.do<ExporterLease[]>({ do: 'leases' }), [])
  t.deepEqual(readdirSync(folder), ['exporter.sock'])
  const grown = (await rss()) - rssBefore
  t.true(isSanitized || grown < NOISE, `${grown} bytes more`)
  const seconds = (performance.now() - started) / 1000
  t.log(`${PROCESSES * SESSIONS} importers in ${PROCESSES} processes attached in ${((attached - started) / 1000).toFixed(1)} s, all in ${seconds.toFixed(1)} s; ` +
    `the exporter's memory ${(grown / 2 ** 20).toFixed(1)} MiB more`)
  t.true(isSanitized || seconds < 60, `${seconds} s`)

  await exporter.do({ do: 'unpublish', name: 'weights' })
  await exporter.do({ do: 'close exporter' })
  await exporter.do({ do: 'close memory', memory: 'weights' })
  t.like(await exporter.counts(), { live: 0, claims: 0, resources: 0, memfds: 0, mappings: 0 })
  t.deepEqual(readdirSync(folder), [])
})

/** Until the exporter has seen all sessions of a process end. */
async function goneAll(exporter: Party, { pid }: Party): Promise<void> {
  const seen = (): number => exporter.events.filter((e) => e.event === 'disconnect' && e.pid === pid).length
  while (seen() < SESSIONS) await exporter.event({ event: 'disconnect' }, exporter.events.length)
}
