/** Single-bit damage to a valid envelope, on the core's own memory: a thousand envelopes are millions of calls. */
import { FIELDS, VERDICTS, type Core } from '../../../host/core/index.ts'
import { crcAt as crcOffset } from './forge.ts'

const RECORD = 24
const CRC = FIELDS.indexOf('crc32c')

export interface FlipResult {
  flips: number
  /** What was wrong, for the first flip that was. */
  fault: string | undefined
}

/** Every bit, with the checksum left as it was: all refused? */
export function plainFlips(core: Core, bytes: Uint8Array): FlipResult {
  const { exports, u8, inputAt: at } = core
  u8.set(bytes, at)
  let flips = 0
  for (let i = 0; i < bytes.length * 8; i++) {
    const bit = 1 << (i & 7)
    u8[at + (i >> 3)]! ^= bit
    const code = exports.validate(at, bytes.length, 0)
    u8[at + (i >> 3)]! ^= bit
    flips++
    if (!refused(code)) return { flips, fault: `bit ${i & 7} of byte ${i >> 3}: ${code}` }
  }
  return { flips, fault: undefined }
}

export function truncations(core: Core, bytes: Uint8Array): FlipResult {
  const { exports, u8, inputAt: at } = core
  u8.set(bytes, at)
  for (let length = 0; length < bytes.length; length++) {
    const code = exports.validate(at, length, 0)
    if (VERDICTS[code] !== (length === 0 ? 'empty' : 'truncated')) return { flips: length, fault: `${length} bytes: ${code}` }
  }
  return { flips: bytes.length, fault: undefined }
}

/**
 * Every bit but the checksum's own, the checksum put right: a named verdict, or one field changed, the one that holds
 * the bit.
 */
export function checksummedFlips(core: Core, bytes: Uint8Array): FlipResult & { accepted: number } {
  const { exports, inputAt: at, listAt, u8 } = core
  const view = new DataView(u8.buffer)
  const crcAt = at + crcOffset(bytes)
  const capacity = core.listSize >> 1
  const otherAt = listAt + capacity
  u8.set(bytes, at)
  const count = exports.describe(at, bytes.length, listAt, capacity)
  const before = new Uint32Array(u8.buffer, listAt, (count * RECORD) / 4)
  const after = new Uint32Array(u8.buffer, otherAt, (count * RECORD) / 4)
  const fields = fieldOfByte(before, bytes.length)
  let [flips, accepted] = [0, 0]
  for (let i = 0; i < bytes.length * 8; i++) {
    const byte = i >> 3
    if (at + byte >= crcAt && at + byte < crcAt + 4) continue
    const bit = 1 << (i & 7)
    u8[at + byte]! ^= bit
    view.setUint32(crcAt, exports.crc32c(at, crcAt - at), true)
    const code = exports.validate(at, bytes.length, 0)
    let fault: string | undefined
    if (code === 0) {
      accepted++
      const n = exports.describe(at, bytes.length, otherAt, capacity)
      fault = n === count ? difference(before, after, fields[byte]!) : `${n} fields instead of ${count}`
    } else if (!refused(code)) fault = `verdict ${code}`
    u8[at + byte]! ^= bit
    flips++
    if (fault !== undefined) return { flips, accepted, fault: `bit ${i & 7} of byte ${byte}: ${fault}` }
  }
  return { flips, accepted, fault: undefined }
}

function refused(code: number): boolean {
  return code > 0 && code < VERDICTS.length && VERDICTS[code] !== 'bad-span'
}

function fieldOfByte(records: Uint32Array, length: number): Uint16Array {
  const fields = new Uint16Array(length)
  for (let f = 0; f < records.length / 6; f++) fields.fill(f, records[6 * f], records[6 * f]! + records[6 * f + 1]!)
  return fields
}

/** Only the flipped field's value may differ (words 4 and 5), and the checksum's. */
function difference(before: Uint32Array, after: Uint32Array, flipped: number): string | undefined {
  for (let i = 0; i < before.length; i++) {
    if (before[i] === after[i]) continue
    const field = (i / 6) | 0
    const id = before[6 * field + 2]! & 0xffff
    if ((field !== flipped && id !== CRC) || i % 6 < 4) return `field ${FIELDS[id]} changed, not only the one with the bit`
  }
  return undefined
}
