// The report as people read it.
import test from 'ava'
import { reportText } from '../../host/cli/doctor_text.ts'
import { examined, type Machine } from './machine.ts'
import { CHECKS } from '../../host/doctor/check.ts'

const plain = { width: Infinity, colour: false }
const bad: Partial<Machine> = { backends: { sycl: { answers: {}, end: 'crashed', step: 'loading the backend', problem: 'SIGSEGV', output: 'evil \u001b[2J\u0007 text' } } }

test('grouped, one finding a line, a summary at the end', (t) => {
  const text = reportText(examined({}), plain)
  const headings = text.split('\n').filter((line) => /^\S/.test(line)).slice(0, -1)
  t.deepEqual(headings.map((h) => h.toLowerCase()), [...new Set(Object.values(CHECKS).map(([group]) => group.toLowerCase()))])
  t.is(text.match(/^ {2}(ok|absent) /gm)!.length, Object.keys(CHECKS).length)
  t.regex(text, /\n\nmemory can be shared through: host, level_zero, sycl, sycl-v1, sycl-v2; nothing to mend$/)
  t.false(text.includes('\u001b'))
})

test('fixes stand below what they mend', (t) => {
  const text = reportText(examined(bad), plain)
  t.regex(text, /\n {2}failed +sycl +.*SIGSEGV.*\n +fix: update the GPU's driver/)
  t.regex(text, /; 2 failed$/)
})

test('nothing that a driver printed moves the terminal', (t) => {
  t.notRegex(reportText(examined(bad), plain), /\p{Cc}(?<!\n)/u)
})

test('in a terminal: coloured, and no line is longer than it is wide', (t) => {
  const text = reportText(examined(bad), { width: 90, colour: true })
  t.true(text.includes('\u001b[31m'), 'red')
  // oxlint-disable-next-line no-control-regex
  for (const line of text.replace(/\u001b\[\d+m/g, '').split('\n')) t.true(line.length <= 90 || !line.trim().includes('  '), line)
})
