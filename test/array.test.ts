import test from 'ava'
import fc from 'fast-check'
import { decode, describeArray, getMemHandle, MemoryUSMDevice, toArrayMetadata, type Dtype } from '../host/index.ts'
import { dtypeName, dtypeNumbers } from '../host/array.ts'

/** DLPack 1.1's codes and bits, written down once more. */
const DTYPES: Record<string, [code: number, bits: number]> = {
  bool: [6, 8], int8: [0, 8], int16: [0, 16], int32: [0, 32], int64: [0, 64], uint8: [1, 8], uint16: [1, 16], uint32: [1, 32], uint64: [1, 64],
  float16: [2, 16], float32: [2, 32], float64: [2, 64], bfloat16: [4, 16], complex64: [5, 64], complex128: [5, 128],
  float8_e3m4: [7, 8], float8_e4m3: [8, 8], float8_e4m3b11fnuz: [9, 8], float8_e4m3fn: [10, 8], float8_e4m3fnuz: [11, 8],
  float8_e5m2: [12, 8], float8_e5m2fnuz: [13, 8], float8_e8m0fnu: [14, 8], float6_e2m3fn: [15, 6], float6_e3m2fn: [16, 6], float4_e2m1fn: [17, 4],
}

test('every element type has DLPack\'s numbers, by name and back, alone and as a vector', (t) => {
  for (const [name, [code, bits]] of Object.entries(DTYPES)) {
    t.deepEqual(dtypeNumbers(name as Dtype), { code, bits, lanes: 1 }, name)
    t.is(dtypeName(code, bits), name as Dtype)
    t.deepEqual(dtypeNumbers(`${name}x4` as Dtype), { code, bits, lanes: 4 })
    t.is(dtypeName(code, bits, 4), `${name}x4` as Dtype)
  }
  t.is(dtypeName(3, 64), undefined)
  t.is(dtypeName(2, 80), undefined)
})

test('an element type that does not exist is refused by name', (t) => {
  for (const dtype of ['', 'float31', 'Float32', 'toString', '__proto__', 'float32x0', 'float32x', 'float32x65536', 'float32x4x4', 4, null, undefined]) {
    t.throws(() => toArrayMetadata({ dtype: dtype as Dtype, shape: [] }), { code: 'ERR_USM_IPC_INVALID_ARRAY', instanceOf: TypeError }, String(dtype))
  }
  t.throws(() => toArrayMetadata({ dtype: 'int8', shape: [], code: 1 } as never), { code: 'ERR_USM_IPC_UNKNOWN_OPTION' })
  t.throws(() => toArrayMetadata('float32' as never), { code: 'ERR_USM_IPC_INVALID_ARRAY' })
  const own = { code: 2, bits: 32, lanes: 1, shape: [1] }
  t.is(toArrayMetadata(own), own)
})

test('an array is described in full', (t) => {
  t.deepEqual(describeArray({ dtype: 'float32', shape: [2, 3] }, 24), {
    dtype: 'float32', code: 2, bits: 32, lanes: 1, itemsize: 4, shape: [2, 3], strides: [3, 1], contiguous: true,
  })
  t.like(describeArray({ dtype: 'float4_e2m1fn', shape: [5] }, 3), { itemsize: undefined, contiguous: true })
  t.like(describeArray({ dtype: 'float4_e2m1fnx2', shape: [5] }, 5), { itemsize: 1, lanes: 2 })
  t.like(describeArray({ dtype: 'int64', shape: [] }, 8), { itemsize: 8, strides: [], contiguous: true })
  t.like(describeArray({ dtype: 'int8', shape: [2, 3], strides: [1, 2] }, 6), { contiguous: false, strides: [1, 2] })
  t.like(describeArray({ dtype: 'int8', shape: [2, 3], strides: [4, 1] }, 7), { contiguous: false })
  t.like(describeArray({ dtype: 'int8', shape: [1, 3], strides: [99, 1] }, 3), { contiguous: true })
  t.like(describeArray({ dtype: 'int8', shape: [0, 3], strides: [9, 9] }, 1), { contiguous: true })
  t.like(describeArray({ code: 3, bits: 64, lanes: 1, shape: [1] }, 8), { dtype: undefined })
  t.throws(() => describeArray({ dtype: 'int8', shape: [1], strides: [] }, 8), { code: 'ERR_USM_IPC_INVALID_ARRAY' })
})

test('an array that does not fit is not described, whatever its numbers', (t) => {
  t.is(describeArray({ dtype: 'float32', shape: [2, 3] }, 23), undefined)
  t.is(describeArray({ dtype: 'int8', shape: [2, 3], strides: [4, 1] }, 6), undefined)
  t.is(describeArray({ dtype: 'int8', shape: [2 ** 53 - 1, 2 ** 53 - 1] }, 2 ** 53 - 1), undefined)
})

test('property: the core seals exactly the arrays that are described, and they come back', (t) => {
  using memory = new MemoryUSMDevice(64, { device: 'host' })
  const extents = fc.array(fc.tuple(fc.nat({ max: 5 }), fc.nat({ max: 12 })), { maxLength: 4 })
  fc.assert(fc.property(fc.constantFrom(...Object.keys(DTYPES)), extents, fc.boolean(), (dtype, dimensions, strided) => {
    const array = toArrayMetadata({
      dtype: dtype as Dtype, shape: dimensions.map(([extent]) => extent), ...(strided ? { strides: dimensions.map(([, stride]) => stride) } : {}),
    })
    const described = describeArray(array, 64)
    if (described === undefined) return void t.throws(() => getMemHandle(memory, { array }), { code: 'ERR_USM_IPC_BAD_ARRAY' })
    const { code, bits, lanes, shape, strides } = described
    t.deepEqual(decode(getMemHandle(memory, { array })).array, { code, bits, lanes, shape: [...shape], strides: [...strides] })
  }), { numRuns: 300 })
})
