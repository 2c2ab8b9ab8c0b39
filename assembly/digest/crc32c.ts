// CRC32C (Castagnoli, RFC 3720 appendix B.4), slice-by-16: tables[k][b] is the CRC of byte b followed by k zero bytes.
import { CRC_TABLES as T } from "../io";

const POLYNOMIAL: u32 = 0x82f63b78; // reflected

/** Fills the sixteen tables; runs once, at instantiation. */
export function crc32cTables(): void {
  for (let b: u32 = 0; b < 256; b++) {
    let c = b;
    for (let i = 0; i < 8; i++) c = (c >> 1) ^ (c & 1 ? POLYNOMIAL : 0);
    store<u32>(T + (b << 2), c);
  }
  for (let k: u32 = 1; k < 16; k++) {
    for (let b: u32 = 0; b < 256; b++) {
      const previous = load<u32>(T + ((k - 1) << 10) + (b << 2));
      store<u32>(T + (k << 10) + (b << 2), (previous >> 8) ^ load<u32>(T + ((previous & 0xff) << 2)));
    }
  }
}

// @ts-ignore: decorator
@inline
function at(word: u32, shift: u32): usize {
  return ((word >> shift) & 0xff) << 2;
}

export function crc32c(pointer: u32, length: u32): u32 {
  let c: u32 = 0xffffffff;
  let p: usize = pointer;
  const end = p + length;
  while (p + 16 <= end) {
    const w0 = load<u32>(p) ^ c;
    const w1 = load<u32>(p, 4);
    const w2 = load<u32>(p, 8);
    const w3 = load<u32>(p, 12);
    c =
      load<u32>(at(w0, 0), T + 15 * 1024) ^ load<u32>(at(w0, 8), T + 14 * 1024) ^
      load<u32>(at(w0, 16), T + 13 * 1024) ^ load<u32>(at(w0, 24), T + 12 * 1024) ^
      load<u32>(at(w1, 0), T + 11 * 1024) ^ load<u32>(at(w1, 8), T + 10 * 1024) ^
      load<u32>(at(w1, 16), T + 9 * 1024) ^ load<u32>(at(w1, 24), T + 8 * 1024) ^
      load<u32>(at(w2, 0), T + 7 * 1024) ^ load<u32>(at(w2, 8), T + 6 * 1024) ^
      load<u32>(at(w2, 16), T + 5 * 1024) ^ load<u32>(at(w2, 24), T + 4 * 1024) ^
      load<u32>(at(w3, 0), T + 3 * 1024) ^ load<u32>(at(w3, 8), T + 2 * 1024) ^
      load<u32>(at(w3, 16), T + 1 * 1024) ^ load<u32>(at(w3, 24), T);
    p += 16;
  }
  while (p < end) {
    c = (c >> 8) ^ load<u32>(((c ^ load<u8>(p)) & 0xff) << 2, T);
    p++;
  }
  return ~c;
}
