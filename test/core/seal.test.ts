import test from 'ava'
import { decode, fromHex, seal, toHex, type EnvelopeHeader, type EnvelopeSections } from '../../host/core/index.ts'
import { baseHandle, baseHeader } from './support/base.ts'

const header = baseHeader('cuda')
const handle = baseHandle('cuda')

function refused(h: object, s: object = {}): () => Uint8Array {
  return () => seal({ ...header, ...h } as EnvelopeHeader, { handle, ...s } as EnvelopeSections)
}

test('values that the format has no room for are refused, not cut off', (t) => {
  const wrong: [object, object?][] = [
    [{ pid: 2 ** 32 + 5 }], [{ pid: -1 }], [{ pid: 1.5 }],
    [{ startTime: 2n ** 64n }], [{ startTime: -1n }], [{ pidNamespace: 2n ** 64n + 1n }],
    [{ nbytes: 2 ** 53 }], [{ offset: -1 }], [{ allocationSize: NaN }], [{ created: 0.5 }], [{ expires: Infinity }],
    [{}, { further: [{ role: 2 ** 32 + 1, bytes: handle }] }],
    [{}, { descriptors: [{ kind: 'memfd', stDev: 2n ** 64n, stIno: 1n }] }], [{}, { descriptors: [{ kind: 'memfd', stDev: 1n, stIno: -1n }] }],
    [{}, { array: { code: 258, bits: 32, lanes: 1, shape: [1] } }], [{}, { array: { code: 2, bits: 264, lanes: 1, shape: [1] } }],
    [{}, { array: { code: 2, bits: 32, lanes: 65537, shape: [1] } }], [{}, { array: { code: 2, bits: 32, lanes: 1, shape: [1.5] } }],
    [{}, { array: { code: 2, bits: 32, lanes: 1, shape: [2, 2], strides: [1] } }],
    [{}, { unknown: [{ type: 65542, critical: false, bytes: handle }] }],
    [{}, { name: 'half \ud83d of a pair' }],
  ]
  for (const [h, s] of wrong) t.throws(refused(h, s), { instanceOf: RangeError }, JSON.stringify([h, s], (_, v) => (typeof v === 'bigint' ? `${v}n` : v)))
  for (const key of ['deviceUuid', 'allocationId', 'bootId', 'nonce']) t.throws(refused({ [key]: new Uint8Array(15) }), { instanceOf: TypeError })
})

test('what breaks a rule is refused by that rule', (t) => {
  const rows: [string, object, object?][] = [
    ['ZERO_NBYTES', { nbytes: 0 }], ['RANGE_OUTSIDE_ALLOCATION', { offset: 0x10_0000 }], ['BAD_PID', { pid: 0 }], ['BAD_LIFETIME', { expires: 1 }],
    ['LAYOUT_MISMATCH', { backend: 'sycl' }], ['UNKNOWN_KIND', { kind: 'nothing' }], ['UNKNOWN_LAYOUT', { layout: 'nothing' }],
    ['BAD_ALLOCATION_ID', { allocationId: new Uint8Array(16) }], ['BAD_HANDLE_LENGTH', {}, { handle: new Uint8Array(63) }],
    ['BAD_NAME', {}, { name: '' }], ['BAD_NAME', {}, { name: 'a\u0007b' }], ['BAD_NAME', {}, { name: 'é'.repeat(128) }],
    ['BAD_FURTHER_HANDLE', {}, { further: [{ role: 0, bytes: handle }] }], ['BAD_DESCRIPTOR_ENTRY', {}, { descriptors: [] }],
    ['BAD_ARRAY', {}, { array: { code: 2, bits: 32, lanes: 1, shape: [2049] } }], ['BAD_ARRAY', {}, { array: { code: 2, bits: 32, lanes: 1, shape: [-1] } }],
    ['UNKNOWN_CRITICAL_SECTION', {}, { unknown: [{ type: 6, critical: true, bytes: handle }] }],
    ['SECTION_ORDER', {}, { unknown: [7, 6].map((type) => ({ type, critical: false, bytes: handle })) }],
  ]
  for (const [code, h, s] of rows) t.throws(refused(h, s), { code: `ERR_USM_IPC_${code}` }, JSON.stringify([h, s]))
})

test('strides that are left out are row-major', (t) => {
  const { array } = decode(refused({}, { array: { code: 2, bits: 32, lanes: 1, shape: [4, 8, 2] } })())
  t.deepEqual(array, { code: 2, bits: 32, lanes: 1, shape: [4, 8, 2], strides: [16, 2, 1] })
})

test('names are kept to the character, a leading U+FEFF too', (t) => {
  for (const name of ['\ufeffweights', 'naïve', '重み', '🧮', 'a'.repeat(255)]) t.is(decode(refused({}, { name })()).name, name)
})

// A change of the format shows here first.
test('an envelope of fixed contents has fixed bytes', (t) => {
  t.is(toHex(seal({ ...header, nonce: fromHex('00112233445566778899aabbccddeeff')! }, { handle, name: 'weights' })), [
    '55534d495043', '00', '00', '9800', '0000', 'f4000000', '01', '04', '0600', '0200', '38', '00', '11'.repeat(16),
    '0000100000000000', '0010000000000000', '0020000000000000', '22'.repeat(16), '92100000', '00000000', '4d00000000000000', 'fcffffef00000000',
    '33'.repeat(16), '0068e5cf8b010000', '6052e6cf8b010000', '00112233445566778899aabbccddeeff',
    '0100', '01', '15', '40000000', '5a'.repeat(64),
    '0500', '00', '57', '07000000', '7765696768747300', '3238a0c1',
  ].join(''))
})
