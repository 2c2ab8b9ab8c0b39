import test from 'ava'
import { VERDICTS } from '../../host/core/index.ts'
import { Fuzzer, REACHABLE } from './support/fuzzer.ts'

test('200,000 random and damaged inputs: no trap, every verdict in range and reached', (t) => {
  const fuzzer = new Fuzzer(20260101)
  t.notThrows(() => fuzzer.run(200_000))
  t.true(fuzzer.checksummed >= 100_000, 'at least half of the inputs have the right checksum')
  t.deepEqual(REACHABLE.filter((name) => fuzzer.reached[VERDICTS.indexOf(name)]! < 3), [])
})
