// docs/doctor.md explains every check that there is, in the report's order, and no other.
import { readFileSync } from 'node:fs'
import test from 'ava'
import { CHECKS } from '../../host/doctor/check.ts'
import { SHOWN } from '../../host/doctor/variables.ts'

const text = readFileSync(new URL('../../docs/doctor.md', import.meta.url), 'utf8')

test('every check, in its order, under its group', (t) => {
  const documented: [string, string][] = []
  let group = ''
  for (const line of text.split('\n')) {
    group = /^## (.*)/.exec(line)?.[1] ?? group
    const names = /^- ((`[\w-]+`(, )?)+):/.exec(line)?.[1] ?? ''
    for (const [, id] of names.matchAll(/`([\w-]+)`/g)) documented.push([id!, group.toLowerCase()])
  }
  t.deepEqual(documented, Object.entries(CHECKS).map(([id, [of]]) => [id, of.toLowerCase()]))
})

test('every variable whose value is shown', (t) => {
  const [, list = ''] = text.split('## Variables whose values are shown')
  t.deepEqual([...list.matchAll(/`(\w+)`/g)].map(([, name]) => name!).sort(), [...SHOWN].sort())
})
