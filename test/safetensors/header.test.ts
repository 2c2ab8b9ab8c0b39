import test from 'ava'
import fc from 'fast-check'
import { FormatError } from '../../host/errors.ts'
import { SAFETENSORS_DTYPES, numbersOf, safetensorsDtype } from '../../host/safetensors/dtypes.ts'
import { headerLength, parseHeader, type SafetensorsHeader } from '../../host/safetensors/header.ts'
import { DTYPE_BITS } from './dtypes.ts'
import { fileOf, headerOf } from './make.ts'
import { F32, malformed } from './malformed.ts'

function read(file: Uint8Array): SafetensorsHeader {
  const length = headerLength(file.subarray(0, 8), file.length)
  return parseHeader(file.subarray(8, 8 + length), file.length)
}

const codeOf = (file: Uint8Array): string => {
  try {
    read(file)
    return 'ok'
  } catch (error) {
    if (!(error instanceof FormatError)) throw error
    return error.code.replace('ERR_USM_IPC_', '').toLowerCase().replaceAll('_', '-')
  }
}

test('a header of every dtype is read, and mapped to DLPack and back', (t) => {
  t.deepEqual([...SAFETENSORS_DTYPES].sort(), Object.keys(DTYPE_BITS).sort())
  const { text, nbytes } = headerOf(SAFETENSORS_DTYPES.map((dtype) => ({ name: dtype, dtype, shape: [2, 4] })), { format: 'pt' })
  const { tensors, metadata, dataBytes, dataOffset } = read(fileOf(text, nbytes))
  t.deepEqual(metadata, { format: 'pt' })
  t.is(dataBytes, nbytes)
  t.is(dataOffset, 8 + text.length)
  t.deepEqual(tensors.map((x) => x.name), [...SAFETENSORS_DTYPES])
  for (const { name, array, nbytes: size } of tensors) {
    t.is(array.bits, DTYPE_BITS[name]!)
    t.is(size, DTYPE_BITS[name]!)
    t.deepEqual(array.shape, [2, 4])
    t.is(safetensorsDtype({ ...array, ...numbersOf(name)! }), name as typeof SAFETENSORS_DTYPES[number])
  }
})

test('what the format allows is taken: scalars, empty tensors, padding, any order of names and fields, escapes', (t) => {
  t.is(codeOf(fileOf(`{${F32('s', 0, 4, '[]')}}`, 4)), 'ok')
  t.is(codeOf(fileOf(`{${F32('b', 4, 8)},${F32('a', 0, 4)}}`, 8)), 'ok')
  t.is(codeOf(fileOf(`{${F32('a', 0, 4)}}      `, 4)), 'ok')
  t.is(codeOf(fileOf('{}')), 'ok')
  t.is(codeOf(fileOf('{"__metadata__":{}}')), 'ok')
  t.is(codeOf(fileOf('{"a":{"data_offsets":[0,4],"shape":[ 1 ],"dtype":"I\\u00332"}}', 4)), 'ok')
  const { tensors } = read(fileOf(`{${F32('z', 4, 4, '[0,7]')},${F32('a', 0, 4)},${F32('x', 4, 8)},${F32('e', 0, 0, '[3,0]')}}`, 8))
  t.deepEqual(tensors.map(({ name, nbytes }) => [name, nbytes]), [['e', 0], ['a', 4], ['z', 0], ['x', 4]])
  t.is(read(fileOf(`{${F32('\\u00e4\\ud83d\\ude00 "\\\\'.replace('"', '\\"'), 0, 4)}}`, 4)).tensors[0]!.name, 'ä😀 "\\')
  // 2^53-1 bits at most, as a product; the file's size says the rest.
  t.is(codeOf(fileOf('{"a":{"dtype":"U8","shape":[1,1,0,1],"data_offsets":[0,0]}}')), 'ok')
})

for (const [code, what, file] of malformed) test(`refused: ${code} (${what})`, (t) => t.is(codeOf(file), code))

test('what is refused is said on one line, without the characters of the file that do something', (t) => {
  for (const name of ['a\\u001b[31m', '\\u202eb', 'x'.repeat(1000)]) {
    const error = t.throws(() => read(fileOf(`{"${name}":{"${name}":1}}`)), { instanceOf: FormatError })
    t.notRegex(error!.message, /\p{C}/u)
    t.true(error!.message.length < 300)
  }
})

const shapes = fc.array(fc.oneof({ weight: 8, arbitrary: fc.integer({ min: 1, max: 5 }) }, { weight: 1, arbitrary: fc.constant(0) }), { maxLength: 4 })
const tensors = fc.uniqueArray(
  fc.record({ name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }), dtype: fc.constantFrom(...SAFETENSORS_DTYPES), shape: shapes }),
  { selector: (x) => x.name, maxLength: 8 },
).map((all) => all.filter(({ name, dtype, shape }) =>
  // oxlint-disable-next-line no-control-regex
  !/[\u0000-\u001f\u007f-\u009f]/.test(name) && name !== '__metadata__' && name !== '__proto__'
  && shape.reduce((n, e) => n * e, DTYPE_BITS[dtype]!) % 8 === 0))

test('property: what is written is read again, in the order of the data', (t) => {
  fc.assert(fc.property(tensors, fc.dictionary(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' })), (all, metadata) => {
    const { text, nbytes } = headerOf(all, metadata)
    const found = read(fileOf(text, nbytes))
    t.deepEqual({ ...found.metadata }, { ...metadata })
    t.is(found.tensors.length, all.length)
    for (const { name, dtype, shape } of all) {
      const tensor = found.tensors.find((x) => x.name === name)!
      t.deepEqual(tensor.array, { ...numbersOf(dtype)!, shape })
    }
    t.is(found.tensors.reduce((n, x) => n + x.nbytes, 0), nbytes)
  }), { numRuns: 300 })
})

test('fuzz: changed headers are read, or refused by a rule, never anything else; what is read covers the data', (t) => {
  const seeds = [...malformed.map(([, , file]) => file), fileOf(headerOf([{ name: 'a', dtype: 'F4', shape: [4] }, { name: 'b', dtype: 'C64', shape: [] }]).text, 10)]
  const pieces = ['{', '}', '[', ']', '"', ',', ':', '0', '1', '-', '.', 'e', '\\', 'u', ' ', '\n', '__metadata__', '"dtype"', '"shape"', '"data_offsets"', 'F32', '[0,4]', '99999999999999999999']
  const encoder = new TextEncoder()
  let read_ = 0
  fc.assert(fc.property(
    fc.constantFrom(...seeds),
    fc.array(fc.record({ at: fc.nat(), cut: fc.nat({ max: 6 }), put: fc.oneof(fc.constantFrom(...pieces).map((p) => encoder.encode(p)), fc.uint8Array({ maxLength: 3 })) }), { maxLength: 4 }),
    (seed, edits) => {
      let bytes = [...seed.subarray(8)]
      for (const { at, cut, put } of edits) bytes.splice(at % (bytes.length + 1), cut, ...put)
      // The whole rest as the header, or up to the last brace.
      const text = new Uint8Array(bytes)
      const end = text.lastIndexOf(0x7d) + 1
      for (const length of [text.length, end]) {
        const file = fileOf(text.subarray(0, length), text.length - length)
        if (codeOf(file) !== 'ok') continue
        read_++
        const { tensors: found, dataBytes } = read(file)
        t.is(found.reduce((n, x) => n + x.nbytes, 0), dataBytes)
        // JSON's own parser agrees that it is JSON.
        t.is(Object.keys(JSON.parse(new TextDecoder().decode(text.subarray(0, length))) as object).filter((k) => k !== '__metadata__').length, found.length)
      }
    },
  ), { numRuns: 20_000 })
  t.true(read_ > 100)
})
