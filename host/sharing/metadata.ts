/** What an exporter says about a publication beside its array: plain data of its own. */
import { decode, encode } from '@msgpack/msgpack'
import { PeerError, rangeError, typeError } from '../errors.ts'
import { isBounded } from './bounds.ts'
import { MAX_METADATA } from './protocol.ts'

/** Plain data: what JSON has, and bytes. Numbers are finite. */
export type MetadataValue = string | number | boolean | null | Uint8Array | readonly MetadataValue[] | { readonly [name: string]: MetadataValue }
/** A publication's metadata: at most 8192 bytes as MessagePack, at most 8 levels. Everybody who may list sees it. */
export type Metadata = { readonly [name: string]: MetadataValue }

const MAX_LEVELS = 8

/** The metadata as it travels. */
export function metadataBytes(metadata: unknown): Uint8Array {
  if (!isMap(metadata)) throw typeError('invalid-metadata', 'metadata must be an object with plain data in it')
  checkPlain(metadata, MAX_LEVELS)
  const bytes = encode(metadata)
  if (bytes.length > MAX_METADATA) throw rangeError('invalid-metadata', `metadata has ${bytes.length} bytes as MessagePack; at most ${MAX_METADATA} are allowed`)
  return bytes
}

/** The metadata that a peer sent. */
export function metadataFrom(bytes: Uint8Array): Metadata {
  try {
    const metadata = isBounded(bytes, MAX_LEVELS + 1) ? decode(bytes, { maxExtLength: 0 }) : undefined
    if (isMap(metadata)) {
      checkPlain(metadata, MAX_LEVELS)
      return metadata as Metadata
    }
  } catch {
    // Refused below.
  }
  throw new PeerError('protocol', 'the exporter sent metadata that is no MessagePack map of plain data')
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)
}

function checkPlain(value: unknown, levels: number): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || value instanceof Uint8Array) return
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw rangeError('invalid-metadata', `metadata: ${value} is not a finite number`)
    return
  }
  const prototype: unknown = typeof value === 'object' ? Object.getPrototypeOf(value) : undefined
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) {
    throw typeError('invalid-metadata', `metadata: ${typeof value === 'object' ? 'an object of a class' : typeof value} is no plain data`)
  }
  if (levels === 0) throw rangeError('invalid-metadata', `metadata has more than ${MAX_LEVELS} levels`)
  for (const [name, item] of Object.entries(value as object)) {
    if (name === '__proto__') throw rangeError('invalid-metadata', 'metadata: the name __proto__ is not allowed')
    checkPlain(item, levels - 1)
  }
}
