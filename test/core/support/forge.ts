/** Envelopes that nobody sealed: changed bytes whose check bytes and checksum match again. */
import { createHmac } from 'node:crypto'
import { HEADER, type EnvelopeKey } from '../../../host/core/index.ts'
import { crc32c } from './crc32c.ts'

export const HEADER_LENGTH = 152

export function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** XOR of the bytes [at, at + length) but the one at `skip`, and 0x55. */
export function checkByte(bytes: Uint8Array, at: number, length: number, skip: number): number {
  let x = 0x55
  for (let i = at; i < at + length; i++) if (i !== skip) x ^= bytes[i]!
  return x
}

export function fixHeader(bytes: Uint8Array): Uint8Array {
  bytes[HEADER.header_check] = checkByte(bytes, 8, 16, HEADER.header_check)
  return bytes
}

export function fixSection(bytes: Uint8Array, at: number): Uint8Array {
  bytes[at + 3] = checkByte(bytes, at, 8, at + 3)
  return bytes
}

const TAG = 32

export function isAuthenticated(bytes: Uint8Array): boolean {
  return (bytes[HEADER.flags]! & 1) === 1
}

/** Where the sections end and the checksum is. */
export function crcAt(bytes: Uint8Array): number {
  return bytes.length - (isAuthenticated(bytes) ? 4 + TAG : 4)
}

export function fixCrc(bytes: Uint8Array): Uint8Array {
  const at = crcAt(bytes)
  view(bytes).setUint32(at, crc32c(bytes.subarray(0, at)), true)
  return bytes
}

/** What a tag must be, by the document and node:crypto: the judge of the core's. */
export function tagOf(beforeTag: Uint8Array, key: Uint8Array): Uint8Array {
  return createHmac('sha256', key).update('usm-ipc envelope 0\0').update(beforeTag).digest()
}

/** The tag put right, whatever else is wrong. */
export function fixTag(bytes: Uint8Array, key: Uint8Array): Uint8Array {
  bytes.set(tagOf(bytes.subarray(0, -TAG), key), bytes.length - TAG)
  return bytes
}

/** An envelope without a tag with one, valid or not otherwise. */
export function authenticated(bytes: Uint8Array, { id, key }: EnvelopeKey): Uint8Array {
  const out = new Uint8Array(bytes.length + TAG)
  out.set(bytes)
  const v = view(out)
  v.setUint16(HEADER.flags, v.getUint16(HEADER.flags, true) | 1, true)
  v.setUint32(HEADER.key_id, id, true)
  v.setUint32(HEADER.total_length, v.getUint32(HEADER.total_length, true) + TAG, true)
  return fixTag(fixCrc(fixHeader(out)), key)
}

/** An authenticated envelope without its tag. */
export function stripped(bytes: Uint8Array): Uint8Array {
  const out = bytes.slice(0, -TAG)
  const v = view(out)
  v.setUint16(HEADER.flags, v.getUint16(HEADER.flags, true) & ~1, true)
  v.setUint32(HEADER.key_id, 0, true)
  v.setUint32(HEADER.total_length, out.length, true)
  return fixCrc(fixHeader(out))
}

/** Every check byte that can be found, then the checksum. */
export function fixAll(bytes: Uint8Array): Uint8Array {
  fixHeader(bytes)
  for (const { at } of sectionsOf(bytes)) fixSection(bytes, at)
  return fixCrc(bytes)
}

/** Where the sections are, as far as their lengths lead. */
export function sectionsOf(bytes: Uint8Array): { at: number; type: number; length: number }[] {
  const v = view(bytes)
  const found: { at: number; type: number; length: number }[] = []
  for (let at = v.getUint16(HEADER.header_length, true); at + 8 <= crcAt(bytes); ) {
    const length = v.getUint32(at + 4, true)
    found.push({ at, type: v.getUint16(at, true), length })
    at += 8 + Math.ceil(length / 8) * 8
  }
  return found
}

/** A changed copy, everything that is computed put right again. */
export function forged(bytes: Uint8Array, change: (v: DataView, copy: Uint8Array) => void): Uint8Array {
  const copy = bytes.slice()
  change(view(copy), copy)
  return fixAll(copy)
}

/** The envelope as a later minor version might write it: a header with more at its end. */
export function lengthened(bytes: Uint8Array, minor: number, extension: Uint8Array): Uint8Array {
  const longer = new Uint8Array(bytes.length + extension.length)
  longer.set(bytes.subarray(0, HEADER_LENGTH))
  longer.set(extension, HEADER_LENGTH)
  longer.set(bytes.subarray(HEADER_LENGTH), HEADER_LENGTH + extension.length)
  const v = view(longer)
  v.setUint8(HEADER.minor, minor)
  v.setUint16(HEADER.header_length, HEADER_LENGTH + extension.length, true)
  v.setUint32(HEADER.total_length, longer.length, true)
  return fixAll(longer)
}

/** Appends a section's bytes as they stand, and counts it. */
export function withSection(bytes: Uint8Array, type: number, flags: number, body: Uint8Array, padding = 0): Uint8Array {
  const padded = Math.ceil(body.length / 8) * 8
  const out = new Uint8Array(bytes.length + 8 + padded)
  const at = bytes.length - 4
  out.set(bytes.subarray(0, at))
  out.fill(padding, at + 8, at + 8 + padded)
  out.set(body, at + 8)
  const v = view(out)
  v.setUint16(at, type, true)
  v.setUint8(at + 2, flags)
  v.setUint32(at + 4, body.length, true)
  v.setUint32(HEADER.total_length, out.length, true)
  v.setUint16(HEADER.section_count, v.getUint16(HEADER.section_count, true) + 1, true)
  return fixAll(out)
}
