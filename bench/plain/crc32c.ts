/** The core's CRC32C, slice-by-16, in plain TypeScript. */

const TABLES = Array.from({ length: 16 }, () => new Uint32Array(256))
for (let b = 0; b < 256; b++) {
  let c = b
  for (let i = 0; i < 8; i++) c = (c >>> 1) ^ (c & 1 ? 0x82f63b78 : 0)
  TABLES[0]![b] = c
}
for (let k = 1; k < 16; k++) {
  for (let b = 0; b < 256; b++) {
    const previous = TABLES[k - 1]![b]!
    TABLES[k]![b] = (previous >>> 8) ^ TABLES[0]![previous & 0xff]!
  }
}
const [T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12, T13, T14, T15] = TABLES as [
  Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array,
  Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array,
]

export function crc32c(u8: Uint8Array, length: number): number {
  let c = -1
  let p = 0
  for (; p + 16 <= length; p += 16) {
    c ^= u8[p]! | (u8[p + 1]! << 8) | (u8[p + 2]! << 16) | (u8[p + 3]! << 24)
    c =
      T15[c & 0xff]! ^ T14[(c >>> 8) & 0xff]! ^ T13[(c >>> 16) & 0xff]! ^ T12[c >>> 24]! ^
      T11[u8[p + 4]!]! ^ T10[u8[p + 5]!]! ^ T9[u8[p + 6]!]! ^ T8[u8[p + 7]!]! ^
      T7[u8[p + 8]!]! ^ T6[u8[p + 9]!]! ^ T5[u8[p + 10]!]! ^ T4[u8[p + 11]!]! ^
      T3[u8[p + 12]!]! ^ T2[u8[p + 13]!]! ^ T1[u8[p + 14]!]! ^ T0[u8[p + 15]!]!
  }
  for (; p < length; p++) c = (c >>> 8) ^ T0[(c ^ u8[p]!) & 0xff]!
  return ~c >>> 0
}
