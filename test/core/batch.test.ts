import test from 'ava'
import { Core, VERDICTS, type Policy } from '../../host/core/index.ts'
import { base } from './support/base.ts'
import { LAYOUT_NAMES } from './support/generate.ts'
import { Mutator } from './support/mutate.ts'
import { Random } from './support/source.ts'

const core = new Core()

/** One buffer with envelopes, damaged ones and noise in it, and spans of all sorts over it. */
function stock(seed: number, count: number): { bytes: Uint8Array; exact: [number, number][] } {
  const mutator = new Mutator(core, seed, 50)
  const parts: Uint8Array[] = []
  const exact: [number, number][] = []
  let at = 0
  for (let i = 0; i < count; i++) {
    if (i % 5 === 0) mutator.noise()
    else mutator.envelope()
    parts.push(core.u8.slice(core.inputAt, core.inputAt + mutator.length))
    exact.push([at, mutator.length])
    at += mutator.length
  }
  return { bytes: new Uint8Array(Buffer.concat(parts)), exact }
}

function agrees(bytes: Uint8Array, spans: [number, number][], policy?: Policy): string | undefined {
  const together = core.validateBatch(bytes, Uint32Array.from(spans.flat()), policy)
  if (together.length !== spans.length) return `${together.length} verdicts for ${spans.length} spans`
  const i = spans.findIndex(([at, length], k) => core.validateCode(bytes.subarray(at, at + length), policy) !== together[k])
  return i < 0 ? undefined : `span ${i} (${spans[i]}): ${VERDICTS[together[i]!]}`
}

const policies: (Policy | undefined)[] = [undefined, {}, { now: 1_700_000_000_001, backend: 'host' }, { nbytes: 4096, kind: 'memory' }]

for (const [i, policy] of policies.entries()) {
  test(`a batch gives what each gives alone: policy ${i}`, (t) => {
    const { bytes, exact } = stock(i + 1, 4000)
    t.is(agrees(bytes, exact, policy), undefined, 'in order')
    t.is(agrees(bytes, exact.toReversed(), policy), undefined, 'descending')
    t.is(agrees(bytes, exact.flatMap((span) => [span, span]), policy), undefined, 'doubled')
    const random = new Random(i)
    const any = Array.from({ length: 3000 }, (): [number, number] => {
      const at = random.int(0, bytes.length)
      return [at, random.int(0, Math.min(bytes.length - at, random.below(4) === 0 ? 60_000 : 400))]
    })
    t.is(agrees(bytes, any, policy), undefined, 'overlapping, oversized, of any place')
    t.is(agrees(bytes, any.toSorted((a, b) => a[0] - b[0]), policy), undefined, 'overlapping, ascending')
  })
}

test('gaps wider than the core has room for', (t) => {
  const bytes = new Uint8Array(3_000_000)
  const spans: [number, number][] = []
  for (let at = 0, i = 0; at + 1000 < bytes.length; at += i % 3 === 0 ? 300_000 : 1000, i++) {
    const one = base(LAYOUT_NAMES[i % LAYOUT_NAMES.length]!)
    bytes.set(one, at)
    spans.push([at, one.length])
  }
  t.is(agrees(bytes, spans), undefined)
  t.true(core.validateBatch(bytes, Uint32Array.from(spans.flat())).every((code) => code === 0))
})

test('no spans, empty spans, a span over all of a long buffer', (t) => {
  t.deepEqual(core.validateBatch(new Uint8Array(0), new Uint32Array(0)), new Uint8Array(0))
  t.deepEqual([...core.validateBatch(new Uint8Array(4), Uint32Array.of(0, 0, 4, 0))], [1, 1])
  t.is(agrees(new Uint8Array(1_000_000).fill(0x55), [[0, 1_000_000], [0, 1_000_000]]), undefined)
})

test('a span that leaves the buffer is a RangeError, wherever in the list', (t) => {
  const bytes = new Uint8Array(100)
  for (const span of [[0, 101], [100, 1], [101, 0], [0xffff_ffff, 1], [1, 0xffff_ffff]]) {
    t.throws(() => core.validateBatch(bytes, Uint32Array.of(0, 10, ...span)), { instanceOf: RangeError, message: /^span 1 ends at byte \d+ of 100$/ })
  }
})

test('the raw call gives each span outside the I/O region its own verdict', (t) => {
  const { exports, listAt, inputAt, u8 } = core
  u8.set(base('cuda'), inputAt)
  const view = new DataView(u8.buffer)
  const spans = [[inputAt, base('cuda').length], [0, 10], [inputAt, 0xffff_ffff], [inputAt, 0]]
  spans.flat().forEach((word, i) => view.setUint32(listAt + 4 * i, word, true))
  t.is(exports.validateBatch(listAt, 4, 0, listAt + 100), 0)
  t.deepEqual([...u8.subarray(listAt + 100, listAt + 104)].map((code) => VERDICTS[code]), ['ok', 'bad-span', 'bad-span', 'empty'])
  t.is(exports.validateBatch(listAt, 4, 1, listAt + 100), 0)
  t.deepEqual([...u8.subarray(listAt + 100, listAt + 104)].map((code) => VERDICTS[code]), ['bad-span', 'bad-span', 'bad-span', 'bad-span'])
})
