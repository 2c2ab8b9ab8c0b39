// What bytes alone cannot show, said for each layout.
import test from 'ava'
import { authenticateEnvelope, inspect, type LayoutName } from '../../host/core/index.ts'
import { openUnchecked } from '../../host/core/unchecked.ts'
import { KEY, base, baseHandle } from './support/base.ts'
import { LAYOUT_NAMES } from './support/generate.ts'

/** The notes' first words, which tell what they are about. */
const subjects = (notes: readonly string[]): string[] => notes.map((note) => note.slice(0, note.indexOf(':')))

const WITH_OPAQUE = new Set<LayoutName>(['cuda-vmm', 'cuda-pool'])
const OF_CUDA = new Set<LayoutName>(['cuda', 'torch-cuda', 'sycl-umf-cuda', ...WITH_OPAQUE])

for (const layout of LAYOUT_NAMES) {
  test(`a bare open, a session's, and a look: ${layout}`, (t) => {
    const bare = openUnchecked(0, false, { layout })
    t.deepEqual(subjects(bare), ['authenticity', 'liveness', ...(WITH_OPAQUE.has(layout) ? ['the descriptor'] : [])])
    t.is(bare[1]!.includes('CUDA'), OF_CUDA.has(layout))
    t.is(bare[1]!.includes('event'), layout === 'cuda-event')
    t.is(bare.at(-1)!.includes('no file identity'), WITH_OPAQUE.has(layout))
    t.deepEqual(subjects(openUnchecked(0, false, { layout, hasLease: true })), ['authenticity'])
    t.deepEqual(openUnchecked(KEY.id, true, { layout }), bare.slice(1))
    t.deepEqual(openUnchecked(KEY.id, true, { layout, hasLease: true }), [])
    t.regex(openUnchecked(KEY.id, false, { layout, hasLease: true }).join(), /^authenticity: .*\b7\b/)

    const looked = inspect(base(layout)).unchecked
    t.deepEqual(looked.slice(0, bare.length), [...bare])
    const isIdentified = !OF_CUDA.has(layout) && layout !== 'cuda-event'
    t.deepEqual(subjects(looked.slice(bare.length)), isIdentified ? ['the descriptor'] : [])
    t.deepEqual(inspect(authenticateEnvelope(base(layout), KEY), { policy: { keys: [KEY] } }).unchecked, looked.slice(1))

    const raw = inspect(baseHandle(layout), { layout }).unchecked
    t.deepEqual(subjects(raw), ['integrity', 'authenticity', 'liveness', ...(WITH_OPAQUE.has(layout) ? ['the descriptor'] : []), 'device, offset and nbytes'])
    t.true(raw.includes(bare[1]!))
  })
}

test('without a layout nothing is said of CUDA', (t) => {
  t.deepEqual(openUnchecked(0, false), openUnchecked(0, false, { layout: 'host' }))
  t.deepEqual(subjects(inspect(new Uint8Array(3)).unchecked), ['authenticity', 'liveness', 'the descriptor'])
})
