/** CRC32C bit by bit, as RFC 3720 defines it: the reference, and independent of the core. */
export function crc32c(bytes: Uint8Array): number {
  let c = 0xffff_ffff
  for (const b of bytes) {
    c ^= b
    for (let i = 0; i < 8; i++) c = (c >>> 1) ^ (c & 1 ? 0x82f63b78 : 0)
  }
  return ~c >>> 0
}
