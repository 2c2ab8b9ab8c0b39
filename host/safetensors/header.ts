/** The header of a safetensors file: read strictly, each rule broken has a code of its own. */
import { quote } from '../arguments.ts'
import type { ArrayMetadata } from '../core/seal.ts'
import { FormatError } from '../errors.ts'
import { isName } from '../sharing/protocol.ts'
import { SAFETENSORS_DTYPES, numbersOf } from './dtypes.ts'
import { JsonReader } from './json.ts'

/** Bytes before the header: its length. */
export const LENGTH_BYTES = 8
/** Bytes; the reference implementation's. */
export const MAX_HEADER = 100_000_000
/** Dimensions of an array that is shared. */
const MAX_DIMENSIONS = 32
const METADATA = '__metadata__'

export interface Tensor {
  name: string
  /** First byte, from the beginning of the file's data. */
  offset: number
  nbytes: number
  array: ArrayMetadata
}

export interface SafetensorsHeader {
  /** In the order of the data. Empty ones (a dimension of 0) are among them, with `nbytes` 0. */
  tensors: Tensor[]
  /** The file's `__metadata__`. */
  metadata: Record<string, string>
  /** Where the data begins in the file, in bytes. */
  dataOffset: number
  dataBytes: number
}

/**
 * How long the header is, after the file's first 8 bytes.
 *
 * @param start - the file's first 8 bytes (fewer where it has fewer)
 * @param fileBytes - the file's size
 */
export function headerLength(start: Uint8Array, fileBytes: number): number {
  if (start.length < LENGTH_BYTES || fileBytes < LENGTH_BYTES) {
    throw new FormatError('header-missing', `a safetensors file begins with 8 bytes of header length; this one has ${Math.min(start.length, fileBytes)}`)
  }
  const length = new DataView(start.buffer, start.byteOffset, LENGTH_BYTES).getBigUint64(0, true)
  if (length > MAX_HEADER) {
    throw new FormatError('header-too-large', `the header would have ${length} bytes; at most ${MAX_HEADER} are allowed (is it a safetensors file?)`)
  }
  if (Number(length) > fileBytes - LENGTH_BYTES) {
    throw new FormatError('header-outside-file', `the header would have ${length} bytes; the file has ${fileBytes - LENGTH_BYTES} after its length`)
  }
  return Number(length)
}

/**
 * The tensors that a header names, each checked against the file's size, and all of them against each other.
 *
 * @param header - the header's bytes, without its length
 * @param fileBytes - the file's size
 * @throws FormatError
 */
export function parseHeader(header: Uint8Array, fileBytes: number): SafetensorsHeader {
  const dataOffset = LENGTH_BYTES + header.length
  const dataBytes = fileBytes - dataOffset
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(header)
  } catch (cause) {
    throw new FormatError('header-not-unicode', 'the header is not UTF-8', { cause })
  }
  if (text[0] !== '{') throw new FormatError('header-not-an-object', "the header does not begin with '{'")
  const json = new JsonReader(text)
  const tensors: Tensor[] = []
  const seen = new Set<string>()
  let metadata: Record<string, string> = {}
  for (const key of json.keys()) {
    unique(seen, key, 'the header')
    if (key === METADATA) metadata = readMetadata(json)
    else tensors.push(readTensor(json, key, dataBytes))
  }
  json.end()
  tensors.sort((a, b) => a.offset - b.offset || a.nbytes - b.nbytes)
  checkCoverage(tensors, dataBytes)
  return { tensors, metadata, dataOffset, dataBytes }
}

function unique(seen: Set<string>, key: string, where: string): void {
  if (seen.has(key)) throw new FormatError('duplicate-key', `${where} has the key ${quote(key)} twice`)
  seen.add(key)
}

function readMetadata(json: JsonReader): Record<string, string> {
  if (json.peek() !== '{') throw new FormatError('bad-metadata', `${METADATA} is not an object`)
  const entries = new Map<string, string>()
  const seen = new Set<string>()
  for (const key of json.keys()) {
    unique(seen, key, METADATA)
    if (json.peek() !== '"') throw new FormatError('bad-metadata', `${METADATA}: the value of ${quote(key)} is not a string`)
    entries.set(key, json.string())
  }
  return Object.fromEntries(entries)
}

function readTensor(json: JsonReader, name: string, dataBytes: number): Tensor {
  if (!isName(name)) {
    throw new FormatError('bad-tensor-name', `a tensor's name, ${quote(name)}, cannot be published: 1 to 255 bytes of UTF-8, no control characters`)
  }
  const where = `tensor ${quote(name)}`
  if (json.peek() !== '{') throw new FormatError('bad-tensor', `${where} is not an object`)
  let dtype: string | undefined
  let shape: number[] | undefined
  let range: number[] | undefined
  const seen = new Set<string>()
  for (const key of json.keys()) {
    unique(seen, key, where)
    if (key === 'dtype') {
      if (json.peek() !== '"') throw new FormatError('unknown-dtype', `${where}: the dtype is not a string`)
      dtype = json.string()
    } else if (key === 'shape') {
      shape = sizes(json) ?? badShape(where)
    } else if (key === 'data_offsets') {
      range = sizes(json) ?? badRange(where)
    } else {
      throw new FormatError('bad-tensor', `${where} has a field ${quote(key)}; it has dtype, shape and data_offsets`)
    }
  }
  if (dtype === undefined || shape === undefined || range === undefined) {
    throw new FormatError('bad-tensor', `${where} has no ${dtype === undefined ? 'dtype' : shape === undefined ? 'shape' : 'data_offsets'}`)
  }
  const numbers = numbersOf(dtype)
  if (numbers === undefined) {
    throw new FormatError('unknown-dtype', `${where}: the dtype ${quote(dtype)} is not known; there are ${SAFETENSORS_DTYPES.join(', ')}`)
  }
  if (shape.length > MAX_DIMENSIONS) badShape(where)
  const [begin = 0, end = -1] = range
  if (range.length !== 2 || begin > end) badRange(where)
  if (end > dataBytes) throw new FormatError('tensor-outside-file', `${where} ends at byte ${end} of the data; the file has ${dataBytes}`)
  const nbytes = bytesOf(shape, numbers.bits, where)
  if (nbytes !== end - begin) {
    throw new FormatError('tensor-wrong-length', `${where} has ${end - begin} bytes; ${dtype} of shape [${shape.join(', ')}] has ${nbytes}`)
  }
  return { name, offset: begin, nbytes, array: { ...numbers, shape } }
}

function badShape(where: string): never {
  throw new FormatError('bad-shape', `${where}: the shape must be an array of at most ${MAX_DIMENSIONS} integers from 0 to 2^53-1`)
}

function badRange(where: string): never {
  throw new FormatError('bad-data-offsets', `${where}: data_offsets must be two integers from 0 to 2^53-1, the first not above the second`)
}

/** An array of sizes; undefined where the value is something else. */
function sizes(json: JsonReader): number[] | undefined {
  if (!json.take('[')) return undefined
  const values: number[] = []
  if (json.take(']')) return values
  do {
    const value = json.size()
    if (value === undefined) return undefined
    values.push(value)
  } while (json.take(','))
  json.expect(']')
  return values
}

function bytesOf(shape: readonly number[], bits: number, where: string): number {
  // The product may need more than 53 bits on the way, also where a later 0 makes it 0: as in the reference, that is refused.
  let elements = 1
  for (const extent of shape) {
    elements *= extent
    if (!Number.isSafeInteger(elements)) throw new FormatError('tensor-too-large', `${where} has more than 2^53-1 elements`)
  }
  const total = elements * bits
  if (!Number.isSafeInteger(total)) throw new FormatError('tensor-too-large', `${where} has more than 2^53-1 bits`)
  if (total % 8 !== 0) throw new FormatError('tensor-partial-byte', `${where}: ${elements} elements of ${bits} bits fill no whole number of bytes`)
  return total / 8
}

/** Every byte of the data belongs to exactly one tensor. */
function checkCoverage(tensors: readonly Tensor[], dataBytes: number): void {
  let at = 0
  for (const { name, offset, nbytes } of tensors) {
    if (offset < at) throw new FormatError('tensors-overlap', `tensor ${quote(name)} begins at byte ${offset} of the data, inside of another one`)
    if (offset > at) throw new FormatError('data-hole', `bytes ${at} to ${offset} of the data belong to no tensor`)
    at = offset + nbytes
  }
  if (at < dataBytes) throw new FormatError('data-trailing-bytes', `${dataBytes - at} bytes after the last tensor belong to none`)
}
