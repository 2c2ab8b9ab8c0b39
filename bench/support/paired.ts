/** Two ways of doing one thing, timed in turn in one run, so that a machine whose speed drifts does not favour one. */

export interface Paired {
  name: string
  /** Median nanoseconds an operation. */
  ours: number
  theirs: number
  /** Median over the rounds of ours / theirs. */
  ratio: number
  /** Smallest and largest ratio of a round. */
  spread: [number, number]
}

/** Nanoseconds an operation, of one round. */
export type Timed = () => number | Promise<number>

export async function paired(name: string, ours: Timed, theirs: Timed, rounds = 15): Promise<Paired> {
  const a: number[] = []
  const b: number[] = []
  await ours()
  await theirs()
  for (let i = 0; i < rounds; i++) {
    a.push(await ours())
    b.push(await theirs())
  }
  const ratios = a.map((x, i) => x / b[i]!)
  return { name, ours: median(a), theirs: median(b), ratio: median(ratios), spread: [Math.min(...ratios), Math.max(...ratios)] }
}

/** A round of `count` calls. */
export function loop(count: number, call: () => void): Timed {
  return () => {
    const start = process.hrtime.bigint()
    for (let i = 0; i < count; i++) call()
    return Number(process.hrtime.bigint() - start) / count
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((x, y) => x - y)
  return sorted[sorted.length >> 1]!
}
