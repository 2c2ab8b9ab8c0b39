/** What a safetensors file has beside its data, as it travels with the publication of its first tensor. */
import type { Metadata } from '../sharing/metadata.ts'
import { numbersOf, safetensorsDtype } from './dtypes.ts'
import type { LoadedFile } from './load.ts'

export interface FileMetadata {
  /** The file's `__metadata__`. */
  metadata: Record<string, string>
  /** Tensors without data, which cannot be published. */
  empty: Record<string, { dtype: string; shape: readonly number[] }>
}

/** Bytes of JSON: with more, it stays behind. */
const MOST = 6000

/** undefined where there is nothing, or too much. */
export function fileMetadata({ tensors, metadata }: LoadedFile): Metadata | undefined {
  const empty = Object.fromEntries(
    tensors.filter((t) => t.nbytes === 0).map((t) => [t.name, { dtype: safetensorsDtype(t.array)!, shape: [...t.array.shape] }]),
  )
  const own = { ...(isEmpty(metadata) ? {} : { metadata }), ...(isEmpty(empty) ? {} : { empty }) }
  const text = JSON.stringify(own)
  return isEmpty(own) || Buffer.byteLength(text) > MOST || text.includes('"__proto__"') ? undefined : { safetensors: own }
}

/** The same, from what an exporter sent: whatever of it is as it should be. */
export function fromMetadata(published: Metadata | undefined): FileMetadata {
  const { metadata, empty } = entriesOf(published?.['safetensors']) as { metadata?: unknown; empty?: unknown }
  return {
    metadata: Object.fromEntries(Object.entries(entriesOf(metadata)).filter((e): e is [string, string] => typeof e[1] === 'string')),
    empty: Object.fromEntries(Object.entries(entriesOf(empty)).filter((e): e is [string, FileMetadata['empty'][string]] => isEmptyTensor(e[1]))),
  }
}

function isEmptyTensor(value: unknown): boolean {
  const { dtype, shape } = entriesOf(value) as { dtype?: unknown; shape?: unknown }
  return typeof dtype === 'string' && numbersOf(dtype) !== undefined
    && Array.isArray(shape) && shape.includes(0) && shape.every((n) => Number.isSafeInteger(n) && n >= 0)
}

function entriesOf(value: unknown): object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0
}
