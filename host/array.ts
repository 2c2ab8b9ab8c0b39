/** Arrays in DLPack's terms: element types by name, and what a piece of memory holds. */
import { quote } from './arguments.ts'
import type { ArrayMetadata } from './core/seal.ts'
import type { Device } from './device.ts'
import { rangeError, typeError } from './errors.ts'
import { checkOptions } from './options.ts'
import type { Metadata } from './sharing/metadata.ts'

/** Code and bits of every element type that has a name, after DLPack 1.1's `DLDataTypeCode`. */
const DTYPES = {
  bool: [6, 8],
  int8: [0, 8], int16: [0, 16], int32: [0, 32], int64: [0, 64],
  uint8: [1, 8], uint16: [1, 16], uint32: [1, 32], uint64: [1, 64],
  float16: [2, 16], float32: [2, 32], float64: [2, 64],
  bfloat16: [4, 16],
  complex64: [5, 64], complex128: [5, 128],
  float8_e3m4: [7, 8], float8_e4m3: [8, 8], float8_e4m3b11fnuz: [9, 8], float8_e4m3fn: [10, 8], float8_e4m3fnuz: [11, 8],
  float8_e5m2: [12, 8], float8_e5m2fnuz: [13, 8], float8_e8m0fnu: [14, 8],
  float6_e2m3fn: [15, 6], float6_e3m2fn: [16, 6],
  float4_e2m1fn: [17, 4],
} as const satisfies Record<string, readonly [code: number, bits: number]>

/** The name of an element type, as NumPy and ml_dtypes spell it. */
export type DtypeName = keyof typeof DTYPES
/** An element type; `float32x4` is a vector of four lanes. */
export type Dtype = DtypeName | `${DtypeName}x${number}`

/** An array by the name of its element type, or by DLPack's numbers. */
export type ArrayLike = ArrayMetadata | NamedArray

export interface NamedArray {
  dtype: Dtype
  shape: readonly number[]
  /** In elements; row-major where it is left out. */
  strides?: readonly number[]
}

/** What an array is, in full. */
export interface ArrayDescription {
  /** undefined where the numbers are of no type that has a name. */
  dtype: Dtype | undefined
  code: number
  bits: number
  lanes: number
  /** Bytes of an element; undefined where it is no whole number of bytes (packed 4- and 6-bit types). */
  itemsize: number | undefined
  shape: readonly number[]
  /** In elements. */
  strides: readonly number[]
  /** Row-major without gaps. */
  contiguous: boolean
}

/** What `memory.describe()` says. */
export interface Description {
  /** The name that it was published by. */
  name: string | undefined
  nbytes: number
  device: Device
  readOnly: boolean
  array: ArrayDescription | undefined
  /** What the exporter published beside it. */
  metadata: Metadata | undefined
}

const byNumbers = new Map(Object.entries(DTYPES).map(([name, [code, bits]]) => [code * 256 + bits, name as DtypeName]))
const MAX_LANES = 0xffff

/** DLPack's numbers of an element type. Throws a TypeError where there is none of that name. */
export function dtypeNumbers(dtype: Dtype): { code: number; bits: number; lanes: number } {
  const text = typeof dtype === 'string' ? dtype : ''
  // complex64 is a name, not a vector of 64 lanes.
  const name = Object.hasOwn(DTYPES, text) ? text : text.replace(/x[1-9]\d{0,4}$/, '')
  const lanes = name === text ? 1 : Number(text.slice(name.length + 1))
  if (!Object.hasOwn(DTYPES, name) || lanes > MAX_LANES) {
    throw typeError('invalid-array', `array.dtype ${quote(dtype)} is not known; there are ${Object.keys(DTYPES).join(', ')}`)
  }
  const [code, bits] = DTYPES[name as DtypeName]
  return { code, bits, lanes }
}

/** The name of an element type; undefined where it has none. */
export function dtypeName(code: number, bits: number, lanes = 1): Dtype | undefined {
  const name = byNumbers.get(code * 256 + bits)
  return name === undefined || lanes === 1 ? name : `${name}x${lanes}`
}

/**
 * The array in DLPack's numbers, whichever way it was given. Its shape and strides are checked where it is sealed.
 *
 * @throws TypeError `ERR_USM_IPC_INVALID_ARRAY`, `ERR_USM_IPC_UNKNOWN_OPTION`
 * @example
 * ```ts
 * import { toArrayMetadata } from 'usm-ipc'
 *
 * const { code, bits, lanes } = toArrayMetadata({ dtype: 'bfloat16', shape: [2, 3] })
 * console.assert(code === 4 && bits === 16 && lanes === 1)
 * ```
 */
export function toArrayMetadata(array: ArrayLike): ArrayMetadata {
  if (typeof array !== 'object' || array === null) {
    throw typeError('invalid-array', 'array must be an object: { dtype, shape, strides? } or { code, bits, lanes, shape, strides? }')
  }
  if (!('dtype' in array)) return array
  checkOptions(array, ['dtype', 'shape', 'strides'], 'array')
  const { dtype, shape, strides } = array
  return { ...dtypeNumbers(dtype), shape, ...(strides === undefined ? {} : { strides }) }
}

/**
 * What an array is, with its type's name and all strides. undefined where it does not fit into `nbytes`: a mapping that was
 * opened narrower than what was shared holds another array.
 *
 * @param nbytes - size of the memory that it begins, in bytes
 * @example
 * ```ts
 * import { describeArray } from 'usm-ipc'
 *
 * const array = describeArray({ dtype: 'float32', shape: [2, 3] }, 24)
 * console.assert(array?.itemsize === 4 && array.strides.join() === '3,1' && array.contiguous)
 * ```
 */
export function describeArray(array: ArrayLike, nbytes: number): ArrayDescription | undefined {
  const { code, bits, lanes, shape, strides: given } = toArrayMetadata(array)
  if (!Array.isArray(shape) || (given !== undefined && given.length !== shape.length)) {
    throw rangeError('invalid-array', 'array.shape must be an array of numbers, and array.strides one of the same length')
  }
  const plain = rowMajor(shape)
  const strides = given === undefined ? plain : [...given]
  const elementBits = bits * lanes
  if (shape.every((extent) => extent > 0)) {
    // In 64 bits: a shape's numbers may go up to 2^53-1 each.
    const last = shape.reduce((sum, extent, i) => sum + BigInt(extent - 1) * BigInt(strides[i]!), 0n)
    if ((last + 1n) * BigInt(elementBits) > BigInt(nbytes) * 8n) return undefined
  }
  return {
    dtype: dtypeName(code, bits, lanes),
    code, bits, lanes,
    itemsize: elementBits % 8 === 0 ? elementBits / 8 : undefined,
    shape: [...shape],
    strides,
    // The stride of a dimension with one element, or of an array without any, steps nowhere.
    contiguous: shape.includes(0) || shape.every((extent, i) => extent === 1 || strides[i] === plain[i]),
  }
}

function rowMajor(shape: readonly number[]): number[] {
  const strides = shape.map(() => 1)
  for (let i = shape.length - 2; i >= 0; i--) strides[i] = strides[i + 1]! * shape[i + 1]!
  return strides
}
