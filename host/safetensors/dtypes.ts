/** The element types of safetensors files, in DLPack's terms. */
import { dtypeName, dtypeNumbers, type DtypeName } from '../array.ts'

/** After the list of the reference implementation, version 0.8. F8_E4M3 is the variant without infinities. */
const DTYPES = {
  BOOL: 'bool',
  F4: 'float4_e2m1fn', F6_E2M3: 'float6_e2m3fn', F6_E3M2: 'float6_e3m2fn',
  U8: 'uint8', I8: 'int8',
  F8_E5M2: 'float8_e5m2', F8_E4M3: 'float8_e4m3fn', F8_E8M0: 'float8_e8m0fnu',
  F8_E4M3FNUZ: 'float8_e4m3fnuz', F8_E5M2FNUZ: 'float8_e5m2fnuz',
  I16: 'int16', U16: 'uint16', F16: 'float16', BF16: 'bfloat16',
  I32: 'int32', U32: 'uint32', F32: 'float32', C64: 'complex64',
  F64: 'float64', I64: 'int64', U64: 'uint64',
} as const satisfies Record<string, DtypeName>

export type SafetensorsDtype = keyof typeof DTYPES

export const SAFETENSORS_DTYPES = Object.keys(DTYPES) as readonly SafetensorsDtype[]

const fromName = new Map<string, SafetensorsDtype>(SAFETENSORS_DTYPES.map((dtype) => [DTYPES[dtype], dtype]))
const numbers = new Map<string, { code: number; bits: number; lanes: number }>(
  SAFETENSORS_DTYPES.map((dtype) => [dtype, dtypeNumbers(DTYPES[dtype])]),
)

/** DLPack's numbers of an element type that a file names; undefined where the format has none of that name. */
export function numbersOf(dtype: string): { code: number; bits: number; lanes: number } | undefined {
  return numbers.get(dtype)
}

/** What a file calls the type of an array; undefined where the format has no such type. */
export function safetensorsDtype(array: { code: number; bits: number; lanes: number }): SafetensorsDtype | undefined {
  return fromName.get(dtypeName(array.code, array.bits, array.lanes) ?? '')
}
