/** What a GPU test measured, for docs/benchmarks.md: `npm run test:gpu` collects these lines. */
export function figure(name: string, values: object): void {
  console.log(`FIGURE ${JSON.stringify({ name, ...values })}`)
}

export const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
