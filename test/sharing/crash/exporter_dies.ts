/** The exporter is killed at each of its steps. Two importers and a new exporter on the same path go on. */
import test, { type ExecutionContext } from 'ava'
import { EXPORTER_STEPS, type Step } from '../../../host/sharing/steps.ts'
import { mappingsOutlive } from '../../support/ipc.ts'
import type { Party } from './party.ts'
import type { Held } from './protocol.ts'
import { Stage, becauseOfADeath, held, holds, millisecondsAfter, type Victim } from './stage.ts'

/** At these the exporter serves one importer already, and dies while it does it for the other. */
const SECOND: Step[] = [
  'exporter:published', 'exporter:accepted', 'exporter:hello', 'exporter:authorized', 'exporter:welcomed', 'exporter:list', 'exporter:listed',
  'exporter:open', 'exporter:leased', 'exporter:opened',
]

export const everyExporterStep = EXPORTER_STEPS.map((step) => ({ step, count: SECOND.includes(step) ? 2 : 1 }))

export function exporterDies(device: string, victims: Victim[], kept = 0): void {
  let stage: Stage
  let survivors: { importers: [Party, Party]; next: Party }
  let before: Held[]
  const all = (): Party[] => [...survivors.importers, survivors.next]

  /** At first, and after a case that failed. */
  async function begin(t: ExecutionContext): Promise<void> {
    await stage?.end()
    stage = new Stage(device, stage?.figures)
    survivors = { importers: [stage.parties.start(), stage.parties.start()], next: stage.parties.start() }
    // What a process opens once is open from then on.
    await goOn(t, 'first')
    before = await Promise.all(all().map(held))
  }

  test.before((t) => begin(t as ExecutionContext))
  test.after.always(() => stage?.end())

  /** A new exporter listens where the dead one did, and serves both importers. */
  async function goOn(t: ExecutionContext, session: string): Promise<void> {
    const { importers, next } = survivors
    await next.do({ do: 'allocate', memory: 'new', byte: 9 })
    await next.do({ do: 'listen', path: stage.socket })
    await next.do({ do: 'publish', name: 'new', memory: 'new' })
    stage.onDisk(t, 'exporter.sock')
    for (const importer of importers) {
      await importer.do({ do: 'connect', path: stage.socket, session })
      t.deepEqual(await importer.do({ do: 'list', session }), ['new'])
      await importer.do({ do: 'open', name: 'new', memory: 'new', session })
      t.deepEqual(await importer.do({ do: 'check', memory: 'new' }), [9])
      await importer.do({ do: 'close memory', memory: 'new' })
      await importer.do({ do: 'close session', session })
    }
    await next.do({ do: 'unpublish', name: 'new' })
    await next.do({ do: 'close exporter' })
    await next.do({ do: 'close memory', memory: 'new' })
    stage.onDisk(t)
  }

  /** Everything that an exporter does, as far as it gets. Tells how far the importers got. */
  async function life(exporter: Party, opened: Map<Party, Set<string>>): Promise<void> {
    const [one, other] = survivors.importers
    await exporter.do({ do: 'allocate', memory: 'x', byte: 1 })
    await exporter.do({ do: 'allocate', memory: 'y', byte: 2 })
    await exporter.do({ do: 'listen', path: stage.socket })
    await exporter.do({ do: 'publish', name: 'x', memory: 'x' })
    await exporter.do({ do: 'publish', name: 'y', memory: 'y' })
    const open = async (importer: Party, name: string): Promise<void> => {
      await importer.do({ do: 'open', name, memory: name })
      opened.get(importer)!.add(name)
    }
    for (const importer of [one, other]) {
      await importer.do({ do: 'connect', path: stage.socket })
      opened.set(importer, new Set())
      await importer.do({ do: 'list' })
      await open(importer, 'x')
    }
    await open(other, 'y')
    opened.get(other)!.delete('y')
    await other.do({ do: 'close memory', memory: 'y' })
    await exporter.event({ event: 'release' })
    const marks = [one.events.length, other.events.length]
    const unpublished = exporter.do({ do: 'unpublish', name: 'x', revoke: true, graceMs: 10_000 })
    await Promise.all([one, other].map(async (importer, i) => {
      const told = importer.event({ event: 'revoked', name: 'x' }, marks[i])
      const gone = importer.event({ event: 'exporterGone' }, marks[i])
      // The notices go out one after the other: the exporter may be dead before the second one.
      if ((await Promise.race([told, gone])).event === 'exporterGone') return void told.catch(() => {})
      gone.catch(() => {})
      // Kept until after the death that is meant to come before anything is closed.
      await Promise.race([gone, new Promise((resolve) => setTimeout(resolve, 50))]).catch(() => {})
      if (exporter.child.process.signalCode !== null) return
      opened.get(importer)!.delete('x')
      await importer.do({ do: 'close memory', memory: 'x' })
    }))
    await unpublished
    await exporter.do({ do: 'close exporter' })
  }

  for (const victim of victims) {
    test.serial(`${device}: the exporter is killed at ${victim.step} (${victim.count}), ${victim.survivor}`, async (t) => {
      await stage.promptly(t, async () => {
        const exporter = stage.parties.fresh()
        const opened = new Map<Party, Set<string>>()
        const marks = survivors.importers.map(({ events }) => events.length)
        await exporter.do({ do: 'die at', ...victim, forker: stage.forker })
        await life(exporter, opened).catch(becauseOfADeath)
        const death = await stage.death(t, exporter, victim)
        stage.onDisk(t, 'exporter.sock')

        const figures: number[] = []
        for (const [i, importer] of survivors.importers.entries()) {
          if (!opened.has(importer)) continue
          const gone = await importer.event({ event: 'exporterGone' }, marks[i])
          figures.push(millisecondsAfter(death, gone))
          // What it has mapped is good until it is closed.
          for (const memory of opened.get(importer)!) {
            t.deepEqual(await importer.do({ do: 'check', memory }), [memory === 'x' ? 1 : 2])
            t.like(await importer.do({ do: 'lease', memory }), { state: 'exporter-gone', mappingStaysValid: mappingsOutlive(), aborted: true })
            await importer.do({ do: 'close memory', memory })
          }
          const refusal = await t.throwsAsync(importer.do({ do: 'list' }))
          t.is((refusal as { code?: string }).code, 'ERR_USM_IPC_EXPORTER_GONE')
          await importer.do({ do: 'close session' })
        }
        await goOn(t, 'next')
        await Promise.all(all().map((party, i) => holds(t, party, before[i]!, kept)))
        stage.parties.endLeft(death)
        return figures
      }, () => begin(t))
    })
  }

  test.serial(`${device}: how soon the importers knew of the exporter's death`, (t) => stage.report(t))
}
