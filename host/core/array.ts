import { asBytes } from '../arguments.ts'
import { HandleError } from '../errors.ts'
import type { ArrayMetadata } from './seal.ts'

const HEAD = 16
const DIMENSION = 16

/**
 * The array metadata that the bytes of an array section say. Whether it fits a range is `validateArray`'s to say.
 *
 * @param bytes - what `arrayBytes` gives
 * @throws HandleError `bad-array` where the length is not that of the dimensions, or one of them is not below 2^53
 * @example
 * ```ts
 * import { arrayBytes, decodeArray } from 'usm-ipc/core'
 *
 * const { shape, strides } = decodeArray(arrayBytes({ code: 2, bits: 32, lanes: 1, shape: [4, 8] }))
 * console.assert(shape[1] === 8 && strides[0] === 8)
 * ```
 */
export function decodeArray(bytes: Uint8Array): ArrayMetadata & { readonly strides: readonly number[] } {
  const given = asBytes(bytes, 'bytes')
  const view = new DataView(given.buffer, given.byteOffset, given.byteLength)
  const ndim = given.length < HEAD ? 0 : view.getUint32(4, true)
  if (given.length !== HEAD + DIMENSION * ndim) throw new HandleError('bad-array', `array metadata of ${given.length} bytes is malformed`, 4)
  const integers = (from: number): number[] => Array.from({ length: ndim }, (_, i) => {
    const value = Number(view.getBigInt64(from + DIMENSION * i, true))
    if (Number.isSafeInteger(value) && value >= 0) return value
    throw new HandleError('bad-array', 'a shape or stride of the array is not an integer below 2^53', HEAD + DIMENSION * i)
  })
  return {
    code: view.getUint8(0), bits: view.getUint8(1), lanes: view.getUint16(2, true),
    shape: integers(HEAD), strides: integers(HEAD + 8),
  }
}
