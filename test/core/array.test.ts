// Array metadata by itself, as the sharing protocol carries it.
import test from 'ava'
import { Core, VERDICTS, arrayBytes, decode, decodeArray, seal, type ArrayMetadata, type VerdictName } from '../../host/core/index.ts'
import { baseHandle, baseHeader } from './support/base.ts'
import { plan } from './support/generate.ts'
import { Random } from './support/source.ts'

const core = new Core()
const MAX = Number.MAX_SAFE_INTEGER
const f32 = (...shape: number[]): ArrayMetadata => ({ code: 2, bits: 32, lanes: 1, shape })

test('the verdict is that of an envelope that shares so many bytes', (t) => {
  const random = new Random(5)
  const seen = new Set<string>()
  for (let i = 0; i < 3000; i++) {
    const { header, sections } = plan(random)
    if (sections.array === undefined) continue
    const bytes = arrayBytes(sections.array)
    if (i % 3 === 0) bytes[random.below(bytes.length)]! ^= 1 << random.below(8)
    const nbytes = i % 2 === 0 ? header.nbytes : Math.max(1, Math.floor(header.nbytes / (1 + random.below(3))))
    const verdict = core.validateArray(bytes, nbytes)
    seen.add(verdict)
    const { exports, sealAt, u8 } = core
    // The same bytes in an envelope of that size.
    const envelope = seal({ ...baseHeader('cuda'), allocationSize: nbytes, offset: 0, nbytes }, { handle: baseHandle('cuda') })
    u8.set(envelope.subarray(0, -4), sealAt)
    new DataView(u8.buffer).setUint32(sealAt + 12, envelope.length - 4, true)
    u8.set(bytes, core.listAt)
    t.is(exports.sealSection(sealAt, 16384, 4, 0, core.listAt, bytes.length), 0)
    const sealed = exports.sealEnd(sealAt, 16384)
    t.is(sealed > 0 ? 'ok' : VERDICTS[-sealed], verdict)
  }
  t.deepEqual([...seen].sort(), ['bad-array', 'ok'])
})

test('at its limits', (t) => {
  const rows: [ArrayMetadata, number, VerdictName][] = [
    [f32(), 4, 'ok'], [f32(), 3, 'bad-array'], [f32(0), 0, 'ok'], [f32(1), 0, 'bad-array'], [f32(4, 8), 128, 'ok'], [f32(4, 8), 127, 'bad-array'],
    [f32(MAX), MAX, 'bad-array'], [{ ...f32(MAX), bits: 8 }, MAX, 'ok'], [f32(-1), 100, 'bad-array'],
  ]
  for (const [array, nbytes, verdict] of rows) t.is(core.validateArray(arrayBytes(array), nbytes), verdict)
  for (const nbytes of [-1, 0.5, NaN, Infinity, 2 ** 53]) t.is(core.validateArray(arrayBytes(f32(1)), nbytes), 'bad-array')
  for (const length of [0, 1, 15, 17, 40_000]) t.is(core.validateArray(new Uint8Array(length), 100), 'bad-array')
  t.throws(() => core.validateArray('x' as never, 1), { code: 'ERR_USM_IPC_INVALID_BYTES' })
})

test('decoding gives what was encoded', (t) => {
  const random = new Random(6)
  let seen = 0
  for (let i = 0; i < 2000; i++) {
    const { header, sections } = plan(random)
    if (sections.array === undefined) continue
    seen++
    const bytes = arrayBytes(sections.array)
    const array = decodeArray(bytes)
    t.deepEqual(array, { ...sections.array, shape: [...sections.array.shape], strides: [...sections.array.strides!] })
    t.deepEqual(array as unknown, decode(seal(header, sections)).array)
    t.deepEqual(arrayBytes(array), bytes)
  }
  t.true(seen > 500)
  t.deepEqual(decodeArray(arrayBytes(f32(4, 8, 2))).strides, [16, 2, 1])
})

test('bytes that are no array metadata are refused by name', (t) => {
  const bytes = arrayBytes(f32(4, 8))
  const refused = (bad: Uint8Array): void => void t.throws(() => decodeArray(bad), { code: 'ERR_USM_IPC_BAD_ARRAY' })
  for (let length = 0; length < bytes.length; length++) refused(bytes.subarray(0, length))
  refused(new Uint8Array([...bytes, 0]))
  for (const ndim of [0, 1, 3, 0xff]) refused(bytes.with(4, ndim))
  for (const at of [16, 24, 32, 40]) for (const top of [0x20, 0x7f, 0x80, 0xff]) refused(bytes.with(at + 7, top).with(at + 6, 0xff))
  t.throws(() => decodeArray('x' as never), { code: 'ERR_USM_IPC_INVALID_BYTES' })
})
