// docs/parity.md names dpctl's cases and ours: each of ours exists in the contract, and none of the contract's is left out.
import { readFileSync } from 'node:fs'
import test from 'ava'
import { dpctl } from '../contract/dpctl.ts'

const rows = readFileSync(new URL('../../docs/parity.md', import.meta.url), 'utf8').split('\n').filter((line) => line.startsWith('| `test_'))

test('each public test case of dpctl\'s is covered by name', (t) => {
  const theirs = rows.flatMap((row) => row.match(/`test_\w+`/g) ?? [])
  t.is(new Set(theirs).size, 18)
  const ours = rows.map((row) => row.split('|')[2]!.trim())
  t.deepEqual([...ours].sort(), dpctl.map((c) => c.name).sort())
})
