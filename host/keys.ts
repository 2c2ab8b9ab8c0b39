/** Keys that authenticate envelopes. Nothing here, in an error or anywhere else, ever shows a key's bytes. */
import { rangeError, typeError } from './errors.ts'
import { checkOptions } from './options.ts'

/** A secret that exporter and importer share. */
export interface EnvelopeKey {
  /** Which key it is: an integer from 1 to 2^32-1. It stands in the envelope, and is no secret. */
  id: number
  /** The secret: 16 to 64 bytes from a random source. */
  key: Uint8Array
}

/** Bytes of a key record in the core's memory: u32 id, u32 length, the key padded with zeros. */
export const KEY_RECORD = 72
/** How many keys one call takes. */
export const MAX_KEYS = 16
const LEAST = 16
const MOST = 64

/**
 * A copy of a key, whose bytes no log shows.
 *
 * @param where - what the key was given to, for the message
 * @throws TypeError or RangeError `ERR_USM_IPC_INVALID_KEY`
 */
export function checkKey(key: unknown, where: string): EnvelopeKey {
  return fromRecord(keyRecord(key, where))
}

/** Copies of keys; refused like `keyRecords`. */
export function checkKeys(keys: unknown, where: string): EnvelopeKey[] {
  const records = keyRecords(keys, where)
  return Array.from({ length: records.length / KEY_RECORD }, (_, i) => fromRecord(records.subarray(KEY_RECORD * i, KEY_RECORD * (i + 1))))
}

/**
 * @internal The key's record for the core. The caller fills it with zeros when it is done.
 *
 * @throws TypeError or RangeError `ERR_USM_IPC_INVALID_KEY`
 */
export function keyRecord(key: unknown, where: string): Uint8Array {
  const record = new Uint8Array(KEY_RECORD)
  writeKey(key, where, record)
  return record
}

/**
 * @internal The records of keys, one after the other.
 *
 * @throws TypeError or RangeError `ERR_USM_IPC_INVALID_KEY`: also for no keys at all, so that a list that lost its keys
 * does not turn the check off
 */
export function keyRecords(keys: unknown, where: string): Uint8Array {
  if (!Array.isArray(keys)) throw typeError('invalid-key', `${where} must be an array of { id, key }`)
  const list = [...(keys as unknown[])]
  if (list.length === 0) throw rangeError('invalid-key', `${where} is empty: leave it out to check no tags`)
  if (list.length > MAX_KEYS) throw rangeError('invalid-key', `${where} has ${list.length} keys, at most ${MAX_KEYS} are taken`)
  const records = new Uint8Array(KEY_RECORD * list.length)
  const ids = new Set<number>()
  try {
    list.forEach((key, i) => {
      const id = writeKey(key, `${where}[${i}]`, records.subarray(KEY_RECORD * i, KEY_RECORD * (i + 1)))
      if (ids.has(id)) throw rangeError('invalid-key', `${where} has two keys with id ${id}`)
      ids.add(id)
    })
  } catch (error) {
    records.fill(0)
    throw error
  }
  return records
}

// Wipes the record.
function fromRecord(record: Uint8Array): EnvelopeKey {
  const view = new DataView(record.buffer, record.byteOffset)
  const bytes = record.slice(8, 8 + view.getUint32(4, true))
  const copy = { id: view.getUint32(0, true) }
  record.fill(0)
  return Object.freeze(Object.defineProperty(copy, 'key', { value: bytes })) as EnvelopeKey
}

function writeKey(given: unknown, where: string, record: Uint8Array): number {
  if (typeof given !== 'object' || given === null) throw typeError('invalid-key', `${where} must be an object: { id, key }`)
  if (given instanceof Uint8Array) throw typeError('invalid-key', `${where} must be an object: { id, key }, not the key's bytes alone`)
  checkOptions(given, ['id', 'key'], where)
  const { id, key } = given as { id: unknown; key: unknown }
  if (typeof id !== 'number') throw typeError('invalid-key', `${where}.id must be a number`)
  if (!Number.isInteger(id) || id < 1 || id > 0xffff_ffff) throw rangeError('invalid-key', `${where}.id must be an integer from 1 to 2^32-1`)
  if (!(key instanceof Uint8Array)) throw typeError('invalid-key', `${where}.key must be a Uint8Array`)
  if (key.length < LEAST || key.length > MOST) {
    throw rangeError('invalid-key', `${where}.key must have ${LEAST} to ${MOST} bytes, not ${key.length}`)
  }
  const view = new DataView(record.buffer, record.byteOffset)
  view.setUint32(0, id, true)
  view.setUint32(4, key.length, true)
  record.set(key, 8)
  return id
}
