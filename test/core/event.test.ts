// Events: envelopes of their own, and what travels in a memory's.
import test from 'ava'
import { FURTHER_ROLES, HEADER, decode, inspect, seal, validate, type EnvelopeSections } from '../../host/core/index.ts'
import { base, baseHandle, baseHeader } from './support/base.ts'
import { forged } from './support/forge.ts'

const header = baseHeader('cuda-event')
const handle = baseHandle('cuda-event')
const event = Uint8Array.from({ length: 64 }, (_, i) => i)

test('an event is sealed, decoded and told from memory', (t) => {
  const bytes = seal(header, { handle, name: 'step 7 done' })
  const decoded = decode(bytes, { kind: 'event', backend: 'cuda' })
  t.like(decoded, { kind: 'event', backend: 'cuda', layout: 'cuda-event', allocationSize: 64, offset: 0, nbytes: 64, name: 'step 7 done', event: undefined })
  t.deepEqual(decoded.handle, handle)
  t.is(validate(bytes, { kind: 'memory' }), 'wrong-kind')
  t.is(validate(base('cuda'), { kind: 'event' }), 'wrong-kind')
  t.is(inspect(bytes).fields.find(({ name }) => name === 'kind')!.meaning, 'event')
})

test('memory is not sealed as an event, nor an event as memory', (t) => {
  const rows: [string, object][] = [
    ['LAYOUT_MISMATCH', { kind: 'memory' }], ['LAYOUT_MISMATCH', { layout: 'cuda' }], ['LAYOUT_MISMATCH', { layout: 'cuda-pool' }],
    ['ZERO_NBYTES', { nbytes: 0 }], ['RANGE_OUTSIDE_ALLOCATION', { offset: 1 }], ['HANDLE_DISAGREES', { allocationSize: 65, offset: 1 }],
    ['HANDLE_DISAGREES', { nbytes: 63, offset: 1 }], ['BAD_ALLOCATION_ID', { allocationId: new Uint8Array(16) }],
  ]
  for (const [code, change] of rows) t.throws(() => seal({ ...header, ...change }, { handle }), { code: `ERR_USM_IPC_${code}` }, JSON.stringify(change))
  t.throws(() => seal({ ...baseHeader('cuda'), kind: 'event' }, { handle }), { code: 'ERR_USM_IPC_LAYOUT_MISMATCH' })
  t.throws(() => seal(header, { handle: handle.subarray(1) }), { code: 'ERR_USM_IPC_BAD_HANDLE_LENGTH' })
})

for (const layout of ['cuda', 'cuda-vmm', 'cuda-pool'] as const) {
  test(`an event travels in an envelope of memory and is shown by name: ${layout}`, (t) => {
    const sections: EnvelopeSections = {
      handle: baseHandle(layout),
      further: [{ role: 2, bytes: new Uint8Array(3) }, { role: FURTHER_ROLES.event, bytes: event }],
      ...(layout !== 'cuda' && { descriptors: [{ kind: 'opaque', stDev: 0n, stIno: 0n }] }),
    }
    const bytes = seal(baseHeader(layout), sections)
    const decoded = decode(bytes)
    t.is(decoded.kind, 'memory')
    t.deepEqual(decoded.event, event)
    t.deepEqual(decoded.further.map(({ role }) => role), [2, FURTHER_ROLES.event])
    const roles = inspect(bytes).fields.filter(({ name }) => name === 'further_role')
    t.deepEqual(roles.map(({ value, meaning }) => [value, meaning]), [[2, undefined], [1, 'event']])
  })
}

test('an event that is not one, or one of two, is refused', (t) => {
  const carrying = (...lengths: number[]): EnvelopeSections => ({
    handle: baseHandle('cuda'), further: lengths.map((length) => ({ role: FURTHER_ROLES.event, bytes: new Uint8Array(length) })),
  })
  t.notThrows(() => seal(baseHeader('cuda'), carrying(64)))
  for (const lengths of [[0], [1], [63], [65], [64, 64], [64, 1]]) {
    t.throws(() => seal(baseHeader('cuda'), carrying(...lengths)), { code: 'ERR_USM_IPC_BAD_FURTHER_HANDLE' }, String(lengths))
  }
})

test('one flipped bit of kind, backend or layout does not make an event something else', (t) => {
  const bytes = seal(header, { handle })
  for (const [at, length] of [[HEADER.kind, 1], [HEADER.backend, 1], [HEADER.layout, 2]] as const) {
    for (let bit = 0; bit < 8 * length; bit++) {
      const changed = forged(bytes, (_, copy) => (copy[at + (bit >> 3)]! ^= 1 << (bit & 7)))
      t.not(validate(changed), 'ok', `bit ${bit} of byte ${at}`)
    }
  }
})
