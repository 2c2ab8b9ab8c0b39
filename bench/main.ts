/**
 * `npm run bench [-- PART... --json]`: every figure as a ratio to a peer measured in the same run. Shows, does not judge.
 * Parts: core, open, ipc, sharing, cuda (on a GPU); all of them where none is named.
 */
import { cpus } from 'node:os'
import { benchCore } from './core.ts'
import { benchCuda } from './cuda.ts'
import { figuresOf, showCuda } from './cuda_show.ts'
import { benchIpc } from './ipc.ts'
import { benchOpen } from './open.ts'
import { benchSharing } from './sharing.ts'
import type { Paired } from './support/paired.ts'

const PARTS = ['core', 'open', 'ipc', 'sharing', 'cuda']
const wanted = process.argv.slice(2).filter((argument) => argument !== '--json')
const unknown = wanted.filter((part) => !PARTS.includes(part))
if (unknown.length > 0) {
  console.error(`bench: there is no part ${unknown.join(', ')}; there are ${PARTS.join(', ')}`)
  process.exit(2)
}
const run = <Result>(part: string, bench: () => Promise<Result>): Promise<Result | undefined> =>
  wanted.length === 0 || wanted.includes(part) ? bench() : Promise.resolve(undefined)

const core = await run('core', benchCore)
const open = await run('open', benchOpen)
const ipc = await run('ipc', benchIpc)
const sharing = await run('sharing', benchSharing)
const cuda = await run('cuda', benchCuda)
if (cuda !== undefined && process.env['OUT'] !== undefined) figuresOf(cuda)

if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ node: process.version, processor: cpus()[0]?.model, core, open, ipc, sharing, cuda }, null, 2))
} else {
  console.log(`Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}\n`)
  if (core !== undefined) {
    console.log(`core       an envelope of ${core.envelopeBytes} bytes`)
    show('core', core.single, 'target: at most 1/0.75 = 1.33')
    show('core', core.singleWithPolicy, '')
    console.log(`core       validations a second: ${mega(core.singlePerSecond)} (target 2 M), in batches ${mega(core.batchPerSecond)} (target 2.5 M)`)
  }
  if (open !== undefined) {
    show('host', open.openClose, 'target: at most 1.5')
    show('host', open.attach, 'target: 0.8 to 1.2')
    show('host', open.attachAndClose, '')
  }
  for (const { backend, get, cachedOpen, cachedClose, firstOpen, copy } of ipc ?? []) {
    for (const each of [get, cachedOpen, cachedClose]) show(backend, each, `target: at most 3000 ns above; is ${(each.ours - each.theirs).toFixed(0)}`)
    show(backend, firstOpen, 'target: at most 1.3')
    show(backend, copy, 'target: at most 1/0.9 = 1.11')
  }
  if (sharing !== undefined) {
    show('sharing', sharing.open, 'target: at most 4')
    show('sharing', sharing.openClose, '')
    for (const size of sharing.sizes) show('sharing', size, 'target: 0.8 to 1.2')
    console.log(`sharing    session.open of what is open: ${sharing.cached.open.toFixed(0)} ns  target: at most 2000; closing it ${sharing.cached.close.toFixed(0)} ns`)
    const { names, open: opened, close } = sharing.openAll
    console.log(`sharing    openAll of ${names} names of one arena: ${(opened / 1e6).toFixed(1)} ms, ${(opened / names).toFixed(0)} ns each; closing them ${(close / 1e6).toFixed(1)} ms`)
    for (const { ipc: sent, socket, copied } of sharing.bytes) for (const each of [sent, socket, copied]) show('sharing', each, `${times(each)} times faster`)
    for (const each of sharing.attach) show('sharing', each, '')
  }
  if (cuda !== undefined) showCuda(cuda)
}

function show(part: string, { name, ours, theirs, ratio, spread }: Paired, target: string): void {
  const figures = `${ours.toFixed(0)} ns / ${theirs.toFixed(0)} ns = ${digits(ratio)} (${digits(spread[0])} to ${digits(spread[1])})`
  console.log(`${part.padEnd(10)} ${name}: ${figures}${target === '' ? '' : `  ${target}`}`)
}

function digits(ratio: number): string {
  return ratio < 0.1 ? ratio.toPrecision(2) : ratio.toFixed(2)
}

function times({ ratio }: Paired): string {
  return (1 / ratio).toPrecision(2)
}

function mega(rate: number): string {
  return `${(rate / 1e6).toFixed(2)} M`
}
