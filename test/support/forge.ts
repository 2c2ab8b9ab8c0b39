/** Envelopes that nobody sealed: changed bytes whose checksums match again. */
import { HEADER, core } from '../../host/core/index.ts'

/** A changed copy of an envelope; its check bytes and CRC32C are computed anew. */
export function forged(envelope: Uint8Array, change: (view: DataView, bytes: Uint8Array) => void): Uint8Array {
  const bytes = envelope.slice()
  change(new DataView(bytes.buffer), bytes)
  return checked(bytes)
}

/** With the check bytes and the checksum that its other bytes ask for. */
export function checked(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = bytes.length - ((bytes[HEADER.flags]! & 1) === 1 ? 36 : 4) // a tag is left as it is
  bytes[HEADER.header_check] = folded(bytes, 8, 24, HEADER.header_check)
  for (let at = view.getUint16(HEADER.header_length, true); at + 8 <= end; ) {
    bytes[at + 3] = folded(bytes, at, at + 8, at + 3)
    at += 8 + Math.ceil(view.getUint32(at + 4, true) / 8) * 8
  }
  view.setUint32(end, crc32c(bytes.subarray(0, end)), true)
  return bytes
}

function folded(bytes: Uint8Array, from: number, to: number, but: number): number {
  let check = 0x55
  for (let i = from; i < to; i++) if (i !== but) check ^= bytes[i]!
  return check
}

function crc32c(bytes: Uint8Array): number {
  const { exports, u8, inputAt } = core()
  u8.set(bytes, inputAt)
  return exports.crc32c(inputAt, bytes.length) >>> 0
}

// Of this thread's own: what two threads forge must not meet in the process's registry.
const foreignRandom = crypto.getRandomValues(new BigUint64Array(1))[0]! | 1n
let foreign = 0

/**
 * The same export as another process's: under an allocation id that this process has not issued, so that opening it
 * needs a descriptor and makes a mapping.
 */
export function asForeign(envelope: Uint8Array): Uint8Array {
  return forged(envelope, (view) => {
    view.setBigUint64(HEADER.allocation_random, foreignRandom, true)
    view.setBigUint64(HEADER.allocation_counter, BigInt(++foreign), true)
  })
}

/** Where the vendor handle lies in an envelope. */
export function handleAt(envelope: Uint8Array): number {
  return new DataView(envelope.buffer, envelope.byteOffset).getUint16(HEADER.header_length, true) + 8
}
