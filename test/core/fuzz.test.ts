import test from 'ava'
import { Fuzzer, REACHABLE } from './support/fuzzer.ts'

test('200,000 random and damaged inputs: no trap, every verdict in range and reached', (t) => {
  const fuzzer = new Fuzzer(20260101)
  t.notThrows(() => fuzzer.run(200_000))
  t.deepEqual(REACHABLE.filter((_, code) => fuzzer.reached[code]! < 3), [])
})
