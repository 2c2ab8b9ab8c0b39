/** Commands for fast-check: what is chosen depends on the model's state and on dice, so that nearly all of them apply. */
import type fc from 'fast-check'
import type { Model } from './model.ts'
import type { Real } from './real.ts'

export type Dice = readonly number[]

export interface Kind<Chosen> {
  readonly name: string
  /** How often, compared with the others. */
  readonly weight: number
  /** Undefined: nothing to do. */
  choose(model: Model, dice: Dice, real: { hostAddressable: boolean }): Chosen | undefined
  describe(chosen: Chosen): string
  act(chosen: Chosen, model: Model, real: Real): Promise<void>
}

/** For type inference. */
export function kind<Chosen>(definition: Kind<Chosen>): Kind<unknown> {
  return definition as Kind<unknown>
}

export class Command implements fc.AsyncCommand<Model, Real> {
  readonly #kind: Kind<unknown>
  readonly #dice: Dice
  readonly #hostAddressable: boolean
  #text = ''

  constructor(what: Kind<unknown>, dice: Dice, hostAddressable: boolean) {
    this.#kind = what
    this.#dice = dice
    this.#hostAddressable = hostAddressable
  }

  check(model: Readonly<Model>): boolean {
    return this.#choose(model as Model) !== undefined
  }

  async run(model: Model, real: Real): Promise<void> {
    const chosen = this.#choose(model)
    this.#text = `${this.#kind.name}(${this.#kind.describe(chosen)})`
    if (real.stats.trace) console.log(this.#text)
    real.stats.commands.set(this.#kind.name, (real.stats.commands.get(this.#kind.name) ?? 0) + 1)
    const began = performance.now()
    try {
      await this.#kind.act(chosen, model, real)
      if (real.stats.trace) console.log(`  ${(performance.now() - began).toFixed(1)} ms`)
    } catch (cause) {
      throw new Error(`${this.#text}: ${(cause as Error).message}`, { cause })
    }
  }

  toString(): string {
    return this.#text === '' ? this.#kind.name : this.#text
  }

  #choose(model: Model): unknown {
    return this.#kind.choose(model, this.#dice, { hostAddressable: this.#hostAddressable })
  }
}

export function pick<T>(from: Iterable<T>, die: number): T | undefined {
  const all = [...from]
  return all[die % all.length]
}

export function assert(condition: boolean, says: string): asserts condition {
  if (!condition) throw new Error(says)
}

/** The code has to be one of these; 'ok' where there is none. */
export function outcome(reply: { error?: string; message?: string }, ...allowed: readonly string[]): string {
  const code = reply.error ?? 'ok'
  assert(allowed.includes(code), `got ${code} (${reply.message ?? ''}), not ${allowed.join(' or ')}`)
  return code
}
