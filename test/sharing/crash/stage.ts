/**
 * Three processes, of which one is killed at a step of the protocol: what becomes of the others. The survivors live through
 * all cases of a file, so what they hold is compared exactly.
 */
import type { ExecutionContext } from 'ava'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Step } from '../../../host/sharing/steps.ts'
import { Ended, Parties, Refused, buildForker, type Death, type Party } from './party.ts'
import type { Event, Held, Survivor } from './protocol.ts'

/** Leases are right, and importers told, this long after a death. A sanitizer's maps take the kernel longer to take down. */
const PROMPT_MS = process.env['USM_IPC_SANITIZED'] === undefined ? 100 : 1000
/**
 * A case whose figure is above it is run again with a new victim, a little later each time: other programs have the
 * processors, too. What is slow by itself is slow every time.
 */
const ATTEMPTS = 6

export interface Victim {
  step: Step
  /** The time that it gets there which is meant. */
  count: number
  survivor: Survivor
}

export class Stage {
  readonly parties: Parties
  readonly folder = mkdtempSync(join(tmpdir(), 'usm-ipc-crash-'))
  readonly #tools = mkdtempSync(join(tmpdir(), 'usm-ipc-crash-tools-'))
  readonly forker: string
  /** Milliseconds from the deaths to when the survivors knew. */
  readonly figures: number[]

  constructor(device: string, figures: number[] = []) {
    this.figures = figures
    this.parties = new Parties(device)
    this.forker = buildForker(this.#tools)
  }

  get socket(): string {
    return join(this.folder, 'exporter.sock')
  }

  /** Runs a case until the survivors knew in time. Where it fails, they are of no use to the cases after it. */
  async promptly(t: ExecutionContext, run: () => Promise<number[]>, failed: () => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const figures = await run().catch(async (error: unknown) => {
        await failed()
        throw error
      })
      const slowest = Math.max(0, ...figures)
      if (slowest >= PROMPT_MS && attempt < ATTEMPTS) {
        t.log(`${slowest.toFixed(1)} ms, once more`)
        await new Promise((resolve) => setTimeout(resolve, 500 * attempt))
        continue
      }
      this.figures.push(...figures)
      t.true(slowest < PROMPT_MS, `the survivors knew within ${slowest.toFixed(1)} ms`)
      return
    }
  }

  report(t: ExecutionContext): void {
    const sorted = this.figures.toSorted((a, b) => a - b)
    const at = (part: number): string => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]!.toFixed(2)
    t.true(sorted.length > 0)
    t.log(`from a death until a survivor knew: median ${at(0.5)} ms, 90% ${at(0.9)} ms, longest ${at(1)} ms, ${sorted.length} times`)
  }

  async end(): Promise<void> {
    await this.parties.end()
    rmSync(this.folder, { recursive: true })
    rmSync(this.#tools, { recursive: true })
  }

  /** The victim's end, which must be at that step. */
  async death(t: ExecutionContext, victim: Party, { step, survivor }: Victim): Promise<Death> {
    const death = await victim.death()
    t.like({ step: death.step, signal: death.exit.signal, stderr: death.exit.stderr }, { step, signal: 'SIGKILL', stderr: '' })
    t.is(death.left > 0, survivor !== 'alone')
    this.parties.left(death)
    return death
  }

  /** Nothing but the socket is on disk. */
  onDisk(t: ExecutionContext, ...expected: string[]): void {
    t.deepEqual(readdirSync(this.folder).filter((name) => !expected.includes(name)), [])
  }
}

export function millisecondsAfter({ at }: Death, event: Event): number {
  return Number(BigInt(event.at) - at) / 1e6
}

/** What is refused because a party died, or because of what the exporter's death does to an importer. */
export function becauseOfADeath(error: unknown): void {
  const codes = ['ERR_USM_IPC_EXPORTER_GONE', 'ERR_USM_IPC_NO_LISTENER']
  if (error instanceof Ended || (error instanceof Refused && codes.includes(error.code))) return
  throw error
}

/** The descriptors, mappings and claims that a party holds, once they are what is expected: closing takes a moment. */
export async function holds(t: ExecutionContext, party: Party, expected: Held, kept = 0): Promise<void> {
  const held = async (): Promise<Held> => {
    const { descriptors, memfds, mappings, live, claims, resources, leases, sessionLeases } = await party.counts()
    // A runtime's cache keeps mappings that were closed, up to a bound.
    const extra = Math.max(0, mappings - expected.mappings)
    return { descriptors, memfds, mappings: extra <= kept ? expected.mappings : mappings, live, claims, resources, leases, sessionLeases }
  }
  let last = await held()
  for (let i = 0; i < 200 && JSON.stringify(last) !== JSON.stringify(expected); i++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    last = await held()
  }
  t.deepEqual(last, expected)
}

/** What a party holds once nothing changes any more: what was closed last is still being told to the other side. */
export async function held(party: Party): Promise<Held> {
  const read = async (): Promise<Held> => {
    const { descriptors, memfds, mappings, live, claims, resources, leases, sessionLeases } = await party.counts()
    return { descriptors, memfds, mappings, live, claims, resources, leases, sessionLeases }
  }
  for (let last = await read(); ;) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    const next = await read()
    if (JSON.stringify(next) === JSON.stringify(last)) return next
    last = next
  }
}
