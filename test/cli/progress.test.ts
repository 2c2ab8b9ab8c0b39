import { Writable } from 'node:stream'
import test from 'ava'
import { progress } from '../../host/cli/progress.ts'

function stream(isTTY: boolean): { stream: NodeJS.WriteStream; text: () => string } {
  let text = ''
  const writable = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk)
      done()
    },
  })
  return { stream: Object.assign(writable, { isTTY, columns: 80, rows: 24 }) as unknown as NodeJS.WriteStream, text: () => text }
}

test('on a terminal: a bar, which is gone at the end', (t) => {
  const { stream: terminal, text } = stream(true)
  const shown = progress('loading x', true, terminal)
  shown.update(1_000_000, 2_000_000)
  shown.update(2_000_000, 2_000_000)
  shown.end()
  t.regex(text(), /loading x \[.*\] 50% of 2\.0 MB/)
  t.true(text().endsWith('\u001b[2K'), JSON.stringify(text().slice(-60)))
  t.false(text().includes('\u001b[?'), 'no mode of the terminal is changed')
})

test('elsewhere: a line now and then, without control characters', (t) => {
  const { stream: file, text } = stream(false)
  const shown = progress('loading x', true, file, 0)
  shown.update(1_000_000, 2_000_000)
  shown.update(2_000_000, 2_000_000)
  shown.end()
  t.is(text(), 'loading x: 50% of 2.0 MB\nloading x: 100% of 2.0 MB\n')
  const rare = stream(false)
  progress('loading x', true, rare.stream).update(1, 2)
  t.is(rare.text(), '')
})

test('for scripts: nothing', (t) => {
  const { stream: file, text } = stream(true)
  const shown = progress('loading x', false, file)
  shown.update(1, 2)
  shown.end()
  t.is(text(), '')
})
