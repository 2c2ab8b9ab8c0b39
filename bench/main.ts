/** `npm run bench [-- --json]`: every figure as a ratio to a peer measured in the same run. Shows, does not judge. */
import { cpus } from 'node:os'
import { benchCore } from './core.ts'
import { benchIpc } from './ipc.ts'
import { benchOpen } from './open.ts'
import type { Paired } from './support/paired.ts'

const core = await benchCore()
const open = await benchOpen()
const ipc = await benchIpc()

if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ node: process.version, processor: cpus()[0]?.model, core, open, ipc }, null, 2))
} else {
  console.log(`Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, envelope of ${core.envelopeBytes} bytes\n`)
  show('core', core.single, 'target: at most 1/0.75 = 1.33')
  show('core', core.singleWithPolicy, '')
  console.log(`core       validations a second: ${mega(core.singlePerSecond)} (target 2 M), in batches ${mega(core.batchPerSecond)} (target 2.5 M)`)
  show('host', open.openClose, 'target: at most 1.5')
  show('host', open.attach, 'target: 0.8 to 1.2')
  show('host', open.attachAndClose, '')
  for (const { backend, get, cachedOpen, cachedClose, firstOpen, copy } of ipc ?? []) {
    for (const each of [get, cachedOpen, cachedClose]) show(backend, each, `target: at most 3000 ns above; is ${(each.ours - each.theirs).toFixed(0)}`)
    show(backend, firstOpen, 'target: at most 1.3')
    show(backend, copy, 'target: at most 1/0.9 = 1.11')
  }
}

function show(part: string, { name, ours, theirs, ratio, spread }: Paired, target: string): void {
  const figures = `${ours.toFixed(0)} ns / ${theirs.toFixed(0)} ns = ${ratio.toFixed(2)} (${spread[0].toFixed(2)} to ${spread[1].toFixed(2)})`
  console.log(`${part.padEnd(10)} ${name}: ${figures}${target === '' ? '' : `  ${target}`}`)
}

function mega(rate: number): string {
  return `${(rate / 1e6).toFixed(2)} M`
}
