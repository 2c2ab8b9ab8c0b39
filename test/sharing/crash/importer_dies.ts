/** One of two importers is killed at each of its steps. The exporter and the other importer go on. */
import test from 'ava'
import { IMPORTER_STEPS, type Step } from '../../../host/sharing/steps.ts'
import type { ExporterLease } from '../../../host/index.ts'
import { Refused, type Party } from './party.ts'
import type { Held } from './protocol.ts'
import { Stage, becauseOfADeath, held, holds, millisecondsAfter, type Victim } from './stage.ts'

/** Before these are over the exporter has welcomed nobody, and tells nobody of the end. */
const UNKNOWN: Step[] = ['importer:connected', 'importer:hello']

/** At these the importer holds a lease already. */
const SECOND: Step[] = ['importer:open', 'importer:opened', 'importer:mapped']

export const everyImporterStep = IMPORTER_STEPS.map((step) => ({ step, count: SECOND.includes(step) ? 2 : 1 }))

export function importerDies(device: string, victims: Victim[], kept = 0): void {
  let stage: Stage
  let exporter: Party
  let other: Party
  let before: Held[]

  /** At first, and after a case that failed. */
  async function begin(): Promise<void> {
    await stage?.end()
    stage = new Stage(device, stage?.figures)
    exporter = stage.parties.start()
    other = stage.parties.start()
    await exporter.do({ do: 'listen', path: stage.socket })
    for (const [i, name] of ['x', 'y', 'z'].entries()) {
      await exporter.do({ do: 'allocate', memory: name, byte: i + 1 })
      await exporter.do({ do: 'publish', name, memory: name })
    }
    await other.do({ do: 'connect', path: stage.socket })
    await other.do({ do: 'open', name: 'x', memory: 'x' })
    // What a process opens once is open from then on.
    await goOn()
    while ((await exporter.do<ExporterLease[]>({ do: 'leases' })).length > 1) await new Promise((resolve) => setTimeout(resolve, 5))
    before = await Promise.all([exporter, other].map(held))
  }

  test.before(begin)
  test.after.always(() => stage?.end())

  async function goOn(): Promise<number[]> {
    await other.do({ do: 'list' })
    await other.do({ do: 'open', name: 'y', memory: 'y' })
    const read = await other.do<number[]>({ do: 'check', memory: 'y' })
    await other.do({ do: 'close memory', memory: 'y' })
    return [...read, ...(await other.do<number[]>({ do: 'check', memory: 'x' }))]
  }

  /** Everything that an importer does, as far as it gets. */
  async function life(importer: Party): Promise<void> {
    await importer.do({ do: 'connect', path: stage.socket })
    await importer.do({ do: 'list' })
    await importer.do({ do: 'open', name: 'x', memory: 'x' })
    await importer.do({ do: 'open', name: 'z', memory: 'z' })
    const unpublished = exporter.do({ do: 'unpublish', name: 'z', revoke: true, graceMs: 60_000 })
    try {
      await importer.event({ event: 'revoked', name: 'z' })
      await importer.do({ do: 'close memory', memory: 'z' })
    } finally {
      await unpublished // whether it is closed or its holder dies
    }
    await importer.do({ do: 'close session' })
  }

  for (const victim of victims) {
    test.serial(`${device}: an importer is killed at ${victim.step} (${victim.count}), ${victim.survivor}`, async (t) => {
      await stage.promptly(t, async () => {
        const importer = stage.parties.fresh()
        const { pid } = importer
        const mark = exporter.events.length
        await importer.do({ do: 'die at', ...victim, forker: stage.forker })
        await life(importer).catch(becauseOfADeath)
        const death = await stage.death(t, importer, victim)
        const left = UNKNOWN.includes(victim.step) ? [] : [await exporter.event({ event: 'disconnect', pid }, mark)]
        const leases = await exporter.do<ExporterLease[]>({ do: 'leases' })
        t.deepEqual(leases.map(({ peer }) => peer.pid), [other.pid])
        // Each lease that was taken has ended, none twice.
        const of = exporter.events.slice(mark).filter((event) => 'pid' in event && event.pid === pid)
        const ids = (kind: string): number[] => of.flatMap((e) => (e.event === kind && 'id' in e ? [e.id] : [])).toSorted((a, b) => a - b)
        t.deepEqual(ids('release'), ids('lease'))
        const ends = [...left, ...of.filter(({ event }) => event === 'release')]

        // An export makes its descriptor when it is first asked for: published anew, as at the beginning.
        await exporter.do({ do: 'unpublish', name: 'z' }).catch(notPublished)
        await exporter.do({ do: 'publish', name: 'z', memory: 'z' })
        t.deepEqual(await goOn(), [2, 1])
        stage.onDisk(t, 'exporter.sock')
        await Promise.all([exporter, other].map((party, i) => holds(t, party, before[i]!, kept)))
        stage.parties.endLeft(death)
        return ends.map((end) => millisecondsAfter(death, end))
      }, begin)
    })
  }

  test.serial(`${device}: how soon the exporter knew of an importer's death`, (t) => stage.report(t))
}

function notPublished(error: unknown): void {
  if (!(error instanceof Refused && error.code === 'ERR_USM_IPC_NO_SUCH_NAME')) throw error
}
