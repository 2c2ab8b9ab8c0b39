import test from 'ava'
import { startChild } from '../support/child.ts'

type Everything = Record<'live' | 'claims' | 'resources' | 'memfds' | 'mappings' | 'descriptors', number>

test('what nobody closed is closed when it is collected: memory, exports, mappings, views, descriptors, channels', async (t) => {
  const child = startChild(new URL('children/dropped.ts', import.meta.url), { execArgv: ['--expose-gc'] })
  const { stdout, stderr, code } = await child.exited
  child.channel.close()
  t.is(code, 0, stderr)
  const report = JSON.parse(stdout) as { before: Everything; held: Everything; after: Everything; records: object[] }
  const { before, held, after, records } = report
  t.is(held.live - before.live, 8, 'three memories, an export, two mappings, two views')
  t.true(held.mappings - before.mappings >= 2)
  t.true(held.descriptors - before.descriptors >= 7)
  t.deepEqual(records, [])
  t.deepEqual(after, before)
})
