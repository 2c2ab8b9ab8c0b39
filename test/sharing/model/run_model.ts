/**
 * Any interleaving of what exporters and importers do, over real processes, against a model (fast-check's commands). A seed
 * fixes the commands, not who wins the races in a storm: a failure may need some turns to show again.
 *
 * USM_IPC_MODEL sets, as in a URL's query: `seed`, `runs`, `commands` (at most in a run), `trace` (1: prints each command
 * when it begins), `shrink` (0: the first failure is shown as it is), `without`
 * (commands that are left out, with commas between them) and, as a failure prints them to play it again, `path` and `replay`.
 */
import fc from 'fast-check'
import type { ExecutionContext } from 'ava'
import { Command } from './command.ts'
import { NAMES, exporting, listen, publishNew } from './exporting.ts'
import { connectTo, importing, start } from './importing.ts'
import { Model } from './model.ts'
import { Real, type Stats } from './real.ts'
import { storm } from './storms.ts'
import { World } from './world.ts'

/** A sanitizer's maps take the kernel longer to take down. */
const PROMPT_MS = process.env['USM_IPC_SANITIZED'] === undefined ? 100 : 1000

export interface Settings {
  readonly selector: string
  readonly env: Record<string, string>
  readonly hostAddressable: boolean
  readonly runs: number
}

const SEED = 5
/** A soak, with failures that are made smaller. */
const LONGEST_MS = 24 * 3600 * 1000
/** Some of them do not apply when their turn comes. */
const COMMANDS = 110
const DICE = 12
/** Runs, or making a failure smaller, go on no longer than this, unless `runs` says how many it has to be. */
const LIMIT_MS = 150_000
const [EXPORTERS, IMPORTERS] = [2, 4]

const kinds = [...exporting, ...importing, storm]

export async function runModel(t: ExecutionContext, settings: Settings): Promise<void> {
  t.timeout(LONGEST_MS)
  const chosen = new URLSearchParams(process.env.USM_IPC_MODEL ?? '')
  const number = (name: string, otherwise: number): number => Number(chosen.get(name) ?? otherwise)
  const seed = number('seed', SEED)
  const runs = number('runs', settings.runs)
  const path = chosen.get('path')
  const replayPath = chosen.get('replay')
  const stats: Stats = { trace: chosen.get('trace') === '1', commands: new Map(), leasesOfTheDead: [], exportersGone: [] }
  const world = new World(settings.selector, settings.env)
  const began = performance.now()
  let played = 0
  const without = (chosen.get('without') ?? '').split(',')
  const one = fc.tuple(
    fc.oneof(...kinds.filter(({ name }) => !without.includes(name)).map((kind) => ({ arbitrary: fc.constant(kind), weight: kind.weight }))),
    fc.array(fc.nat(9999), { minLength: DICE, maxLength: DICE }),
  ).map(([kind, dice]) => new Command(kind, dice, settings.hostAddressable))
  try {
    const commands = fc.noBias(fc.commands([one], { maxCommands: number('commands', COMMANDS), size: 'max', ...(replayPath === null ? {} : { replayPath }) }))
    const result = await fc.check(
      fc.asyncProperty(commands, async (all) => {
        played++
        if (stats.trace) console.log(`run ${played}`)
        await run(all, new Real(world, settings.hostAddressable, stats))
      }),
      { seed, numRuns: runs, includeErrorInReport: true, ...(chosen.has('runs') ? {} : { interruptAfterTimeLimit: LIMIT_MS }), endOnFailure: chosen.get('shrink') === '0', ...(path === null ? {} : { path }) },
    )
    if (result.failed) t.fail(`${fc.defaultReportMessage(result)}\nAgain: USM_IPC_MODEL='${again(result)}'`)
    const count = [...stats.commands.values()].reduce((sum, n) => sum + n, 0)
    t.log(`seed ${seed}: ${played} runs, ${count} commands, ${world.started} processes, ${((performance.now() - began) / 1000).toFixed(1)} s`)
    t.log([...stats.commands].sort(([, one], [, other]) => other - one).map(([name, n]) => `${name} ${n}`).join(', '))
    for (const [what, times] of [['leases of killed importers ended', stats.leasesOfTheDead], ['exporterGone came', stats.exportersGone]] as const) {
      if (times.length === 0) continue
      const sorted = times.sort((a, b) => a - b)
      t.log(`${what} ${at(sorted, 0.5)} ms after the kill (median of ${sorted.length}), 95 % within ${at(sorted, 0.95)} ms, all within ${at(sorted, 1)} ms`)
      t.true(sorted[Math.floor(sorted.length / 2)]! < PROMPT_MS)
    }
    t.true(count > 0)
  } finally {
    await world.end()
  }
}

/** What plays the failure again. */
function again({ seed, counterexamplePath, counterexample }: { seed: number; counterexamplePath: string | null; counterexample: readonly unknown[] | null }): string {
  const [, replay = ''] = /replayPath="([^"]*)"/.exec(String(counterexample?.[0])) ?? []
  return new URLSearchParams({ seed: String(seed), path: counterexamplePath ?? '', replay }).toString()
}

const at = (sorted: readonly number[], part: number): string => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!.toFixed(1)

async function run(commands: Iterable<fc.AsyncCommand<Model, Real>>, real: Real): Promise<void> {
  const model = new Model(EXPORTERS, IMPORTERS)
  try {
    await fc.asyncModelRun(async () => {
      const [exporter] = model.exporters
      await listen(exporter!, undefined, real)
      for (const name of NAMES.slice(0, 2)) await publishNew(exporter!, name, model, real)
      for (const importer of model.importers.slice(0, 2)) {
        await start(importer, real)
        await connectTo(exporter!, importer, undefined, model, real)
      }
      return { model, real }
    }, commands)
    const began = performance.now()
    await end(model, real)
    if (real.stats.trace) console.log(`  the end: ${(performance.now() - began).toFixed(1)} ms`)
  } catch (error) {
    if (real.stats.trace) console.log((error as Error).message)
    for (const side of ['exporters', 'importers'] as const) await Promise.all(real.cast[side].map((party) => party && real.world.kill(party)))
    real.world.forget()
    throw error
  } finally {
    real.world.endKeepers()
  }
}

/** Everybody gives back everything: nothing is left, in the books, the kernel or the folder. */
async function end(model: Model, real: Real): Promise<void> {
  real.world.endKeepers()
  for (const exporter of model.exporters) if (exporter.leftSocket) await listen(exporter, undefined, real)
  const problems: string[] = []
  // At once: a session's end and its exporter's are a race, too.
  await Promise.all([...real.cast.importers, ...real.cast.exporters].map(async (party) => {
    if (party !== undefined) problems.push(...(await real.world.giveBack(party)))
  }))
  if (real.world.onDisk().length > 0) problems.push(`on disk: ${real.world.onDisk().join()}`)
  if (problems.length > 0) throw new Error(problems.join('\n'))
}
