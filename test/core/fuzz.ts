// Fuzzes the core: `npm run test:fuzz -- --count 10000000 --seed 1`. Ends with 1 where it breaks a promise or a verdict is
// reached less than --least times (100 by default).
import { parseArgs } from 'node:util'
import { VERDICTS, type VerdictName } from '../../host/core/index.ts'
import { Fuzzer, REACHABLE } from './support/fuzzer.ts'

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '10000000' }, seed: { type: 'string', default: '1' }, least: { type: 'string', default: '100' },
  },
})
const [count, seed, least] = [values.count, values.seed, values.least].map((text) => {
  if (!/^\d+$/.test(text)) throw new RangeError(`'${text}' is not a number`)
  return Number(text)
}) as [number, number, number]

const fuzzer = new Fuzzer(seed)
const STEP = 100_000
const start = Date.now()
for (let done = 0; done < count; ) {
  const now = Math.min(STEP, count - done)
  fuzzer.run(now)
  done += now
  process.stderr.write(`\r${done} of ${count} inputs, ${((Date.now() - start) / 1000).toFixed(0)} s`)
}
process.stderr.write('\n')
const reached = (name: VerdictName): number => fuzzer.reached[VERDICTS.indexOf(name)]!
for (const name of REACHABLE) console.log(`${String(reached(name)).padStart(9)}  ${name}`)
console.log(`${((100 * fuzzer.checksummed) / count).toFixed(1)} % of the inputs had the right checksum`)
if (fuzzer.checksummed * 2 < count) {
  console.error('fewer than half of the inputs had the right checksum')
  process.exitCode = 1
}
const missed = REACHABLE.filter((name) => reached(name) < least)
if (missed.length > 0) {
  console.error(`reached less than ${least} times: ${missed.join(', ')}`)
  process.exitCode = 1
}
