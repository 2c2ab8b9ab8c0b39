/** Safetensors files, sound and unsound ones. */
import { DTYPE_BITS } from './dtypes.ts'

export interface Entry {
  dtype: string
  shape: number[]
  data_offsets: [number, number]
}

/** A file of this header, as text or as bytes, with so many bytes of data. */
export function fileOf(header: string | Uint8Array, data: number | Uint8Array = 0, length?: bigint): Uint8Array {
  const text = typeof header === 'string' ? new TextEncoder().encode(header) : header
  const rest = typeof data === 'number' ? new Uint8Array(data) : data
  const file = new Uint8Array(8 + text.length + rest.length)
  new DataView(file.buffer).setBigUint64(0, length ?? BigInt(text.length), true)
  file.set(text, 8)
  file.set(rest, 8 + text.length)
  return file
}

/** The header of tensors one after the other, in this order. */
export function headerOf(tensors: readonly { name: string; dtype: string; shape: number[] }[], metadata?: Record<string, string>): { text: string; nbytes: number } {
  const entries = new Map<string, unknown>(metadata === undefined ? [] : [['__metadata__', metadata]])
  let at = 0
  for (const { name, dtype, shape } of tensors) {
    const nbytes = shape.reduce((n, extent) => n * extent, DTYPE_BITS[dtype]!) / 8
    entries.set(name, { dtype, shape, data_offsets: [at, (at += nbytes)] } satisfies Entry)
  }
  return { text: `{${[...entries].map(([name, entry]) => `${JSON.stringify(name)}:${JSON.stringify(entry)}`).join(',')}}`, nbytes: at }
}
