/** Safetensors files written from memory, in pieces. */
import type { ArrayMetadata } from '../core/seal.ts'
import { FormatError } from '../errors.ts'
import { quote } from '../arguments.ts'
import type { UsmMemory } from '../memory.ts'
import { describeArray } from '../array.ts'
import { safetensorsDtype } from './dtypes.ts'
import { LENGTH_BYTES } from './header.ts'
import type { FileMetadata } from './file_metadata.ts'

/** Takes bytes that are its own until it resolves. */
export type Sink = (bytes: Uint8Array) => Promise<void>

export interface SavedTensor {
  name: string
  nbytes: number
  array?: ArrayMetadata | undefined
}

/** Copied at a time. */
const PIECE = 8 << 20

/** All bytes of the memory, in pieces. */
export async function writeMemory(memory: UsmMemory, sink: Sink): Promise<void> {
  const { nbytes } = memory
  const buffer = new Uint8Array(Math.min(PIECE, nbytes))
  for (let at = 0; at < nbytes; at += PIECE) {
    const piece = buffer.subarray(0, Math.min(PIECE, nbytes - at))
    memory.copyTo(piece, at)
    await sink(piece)
  }
}

/**
 * The header of a file that holds the tensors in this order, with its length before it. Padded, so that the data begins at
 * a multiple of 8 bytes.
 *
 * @throws FormatError `ERR_USM_IPC_NOT_A_TENSOR` for what is no row-major array of a type that the format has
 */
export function fileHeader(tensors: readonly SavedTensor[], { metadata, empty }: FileMetadata = { metadata: {}, empty: {} }): Uint8Array {
  const entries = new Map<string, object>()
  if (Object.keys(metadata).length > 0) entries.set('__metadata__', metadata)
  let at = 0
  for (const { name, nbytes, array } of tensors) {
    const description = array === undefined ? undefined : describeArray(array, nbytes)
    const dtype = array === undefined ? undefined : safetensorsDtype(array)
    if (description === undefined || dtype === undefined || !description.contiguous || bits(description) !== nbytes * 8 || name === '__metadata__') {
      throw new FormatError('not-a-tensor', `${quote(name)} cannot stand in a safetensors file: it is no row-major array of a type that the format has. Write it alone`)
    }
    entries.set(name, { dtype, shape: description.shape, data_offsets: [at, (at += nbytes)] })
  }
  for (const [name, { dtype, shape }] of Object.entries(empty)) if (!entries.has(name)) entries.set(name, { dtype, shape, data_offsets: [at, at] })
  const text = `{${[...entries].map(([name, entry]) => `${JSON.stringify(name)}:${JSON.stringify(entry)}`).join(',')}}`
  const json = new TextEncoder().encode(text)
  const bytes = new Uint8Array(LENGTH_BYTES + Math.ceil(json.length / 8) * 8).fill(0x20)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(bytes.length - LENGTH_BYTES), true)
  bytes.set(json, LENGTH_BYTES)
  return bytes
}

function bits({ bits, lanes, shape }: { bits: number; lanes: number; shape: readonly number[] }): number {
  return shape.reduce((product, extent) => product * extent, bits * lanes)
}
