/**
 * The core's rules in plain TypeScript, for envelopes around SYCL handles with name and array sections: the peer that
 * the wasm core is measured against. bench/core.ts first checks that both give the same verdicts.
 */
import { crc32c } from './crc32c.ts'

const MAGIC = [0x55, 0x53, 0x4d, 0x49, 0x50, 0x43]
const HEADER = 152
const HIGH = 2 ** 32
const MAX_SIZE_HIGH = 0x1fffff

export interface PlainPolicy {
  now: number
  backend: number
  device: Uint8Array
  nbytes: number
}

/** 0 for valid, or the core's verdict code. */
export function validate(u8: Uint8Array, policy: PlainPolicy | undefined): number {
  const length = u8.length
  if (length === 0) return 1
  for (let i = 0; i < Math.min(6, length); i++) if (u8[i] !== MAGIC[i]) return 3
  if (length <= 6) return 2
  if (u8[6] !== 0) return 4
  if (length < HEADER) return 2
  const headerLength = u8[8]! | (u8[9]! << 8)
  if (headerLength !== HEADER && (u8[7] === 0 || headerLength < HEADER || (headerLength & 7) !== 0)) return 5
  const total = u32(u8, 12)
  if (total > 16384) return 6
  const trailer = (u8[10]! & 1) === 1 ? 36 : 4
  if (total < headerLength + trailer || ((total - headerLength - trailer) & 7) !== 0) return 7
  if (length < total) return 2
  if (length > total) return 8
  const end = total - trailer
  if (crc32c(u8, end) !== u32(u8, end)) return 9
  const header = checkHeader(u8)
  if (header !== 0) return header
  const sections = checkSections(u8, headerLength, end)
  if (sections !== 0 || policy === undefined) return sections
  return checkPolicy(u8, policy)
}

function checkHeader(u8: Uint8Array): number {
  let check = 0x55
  for (let i = 8; i < 24; i++) check ^= u8[i]!
  if (check !== 0) return 25 // the check byte is one of them
  const authenticated = (u8[10]! & 1) === 1
  if ((u8[10]! & 0xfe | u8[11]!) !== 0) return 10
  if (u8[23] !== 0) return 11
  const kind = u8[16]!
  if (kind < 1 || kind > 4) return 12
  const backend = u8[17]!
  if (backend < 1 || backend > 4) return 13
  const layout = u8[18]! | (u8[19]! << 8)
  const owner = OWNERS[layout] ?? 0
  if (owner === 0) return 14
  if (owner !== backend || kind !== 1) return 15
  if (zero8(u8, 56)) return 16
  const end = add(u8, 48, 56)
  if (end < 0) return 18
  if (u32(u8, 44) > MAX_SIZE_HIGH || u32(u8, 52) > MAX_SIZE_HIGH || u32(u8, 60) > MAX_SIZE_HIGH) return 17
  if (end > size(u8, 40)) return 19
  if (zero8(u8, 64) || zero8(u8, 72)) return 20
  const pid = u32(u8, 80)
  if (pid === 0 || pid > 0x7fffffff) return 21
  if ((u32(u8, 84) !== 0) !== authenticated) return authenticated ? 68 : 22
  if (u32(u8, 124) > MAX_SIZE_HIGH || u32(u8, 132) > MAX_SIZE_HIGH) return 23
  if (!zero8(u8, 128) && less(u8, 128, 120)) return 23
  return 0
}

const OWNERS = [0, 1, 3, 3, 2, 2, 4, 4, 3]

function checkSections(u8: Uint8Array, start: number, end: number): number {
  let at = start
  let previous = 0
  let count = 0
  let handle = 0
  while (at < end) {
    if (end - at < 8) return 24
    if (u8[at + 3] !== (u8[at]! ^ u8[at + 1]! ^ u8[at + 2]! ^ u8[at + 4]! ^ u8[at + 5]! ^ u8[at + 6]! ^ u8[at + 7]! ^ 0x55)) return 25
    const type = u8[at]! | (u8[at + 1]! << 8)
    const flags = u8[at + 2]!
    const length = u32(u8, at + 4)
    if (length > end - at - 8) return 24
    if (flags > 1) return 30
    if (type < previous || type === 0 || (type === previous && type !== 2)) return 27
    const bytes = at + 8
    const padded = (length + 7) & ~7
    for (let i = bytes + length; i < bytes + padded; i++) if (u8[i] !== 0) return 26
    if (type === 1) {
      if (flags !== 1) return 30
      handle = bytes
      // No other layout's handle is measured; their lengths tell them apart.
      const verdict = (u8[18]! | (u8[19]! << 8)) === 2 ? checkSyclV2(u8, bytes, length) : 37
      if (verdict !== 0) return verdict
    } else if (type > 5 && flags === 1) return 29
    previous = type
    count++
    at = bytes + padded
  }
  if (count !== (u8[20]! | (u8[21]! << 8))) return 28
  return handle === 0 ? 31 : 0
}

function checkSyclV2(u8: Uint8Array, p: number, length: number): number {
  if (length !== 120) return 37
  const pid = u32(u8, p + 16)
  if (pid === 0 || pid > 0x7fffffff) return 40
  if (u32(u8, p + 20) !== 0) return 38
  if (zero8(u8, p + 24)) return 42
  if (u32(u8, p + 28) > MAX_SIZE_HIGH) return 17
  if (!less(u8, p + 32, p + 24)) return 44
  if (pid !== u32(u8, 80) || !same8(u8, p + 24, 40) || !same8(u8, p + 32, 48)) return 49
  if (u32(u8, p + 40) !== pid) return 39
  if (u32(u8, p + 44) !== 0) return 38
  if (!same8(u8, p + 48, p + 24)) return 43
  const ze = p + 56
  let rest = 0
  for (let i = ze + 17; i < ze + 64; i++) rest |= u8[i]!
  return rest === 0 && u8[ze + 16]! < 16 ? checkClassic(u8, ze) : checkOpaque(u8, ze)
}

function checkClassic(u8: Uint8Array, p: number): number {
  if (u8[p + 3]! > 0x7f) return 41
  if (u32(u8, p + 4) !== 0) return 38
  return less(u8, p + 8, 40) ? 0 : 44
}

function checkOpaque(u8: Uint8Array, p: number): number {
  if (u8[p + 3]! > 0x7f) return 41
  if (u32(u8, p + 4) !== 0) return 38
  const pid = u32(u8, p + 16)
  if (pid === 0 || pid > 0x7fffffff) return 40
  if (u8[p + 20]! > 1 || u8[p + 21]! > 15) return 45
  if (!zero8(u8, p + 22) && !same8(u8, p + 22, p)) return 47
  if (u8[p + 62]! > 1) return 45
  if (u8[p + 63] !== 0) return 38
  if (!less(u8, p + 8, 40)) return 44
  return pid === u32(u8, 80) ? 0 : 49
}

function checkPolicy(u8: Uint8Array, { now, backend, device, nbytes }: PlainPolicy): number {
  if (u8[17] !== backend) return 54
  for (let i = 0; i < 16; i++) if (u8[24 + i] !== device[i]) return 55
  if (!zero8(u8, 128) && now >= size(u8, 128)) return 51
  if (size(u8, 120) > now) return 52
  return nbytes === 0 || nbytes > size(u8, 56) ? 56 : 0
}

function u32(u8: Uint8Array, at: number): number {
  return (u8[at]! | (u8[at + 1]! << 8) | (u8[at + 2]! << 16) | (u8[at + 3]! << 24)) >>> 0
}
function size(u8: Uint8Array, at: number): number {
  return u32(u8, at + 4) * HIGH + u32(u8, at)
}
function zero8(u8: Uint8Array, at: number): boolean {
  return (u32(u8, at) | u32(u8, at + 4)) === 0
}
function same8(u8: Uint8Array, a: number, b: number): boolean {
  return u32(u8, a) === u32(u8, b) && u32(u8, a + 4) === u32(u8, b + 4)
}
function less(u8: Uint8Array, a: number, b: number): boolean {
  const x = u32(u8, a + 4)
  const y = u32(u8, b + 4)
  return x < y || (x === y && u32(u8, a) < u32(u8, b))
}
/** The sum of two u64, exact below 2^53; -1 where it overflows 2^64. */
function add(u8: Uint8Array, a: number, b: number): number {
  const low = u32(u8, a) + u32(u8, b)
  const high = u32(u8, a + 4) + u32(u8, b + 4) + (low >= HIGH ? 1 : 0)
  return high >= HIGH ? -1 : high * HIGH + (low % HIGH)
}
