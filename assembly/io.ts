// Where things lie in the core's memory. Every span that a caller passes must lie in the I/O region: the core's own
// state is out of reach, and no access can leave the memory.

export const CRC_TABLES: u32 = 1024; // 16 tables of 256 u32
export const SHA_SCRATCH: u32 = CRC_TABLES + 16384; // 256 bytes; zero between calls
export const TAG_SCRATCH: u32 = SHA_SCRATCH + 192; // 32 of them
export const IO: u32 = 65536;
export const IO_SIZE: u32 = 262144;
export const LEDGER: u32 = IO + IO_SIZE;

/** True when [pointer, pointer + length) lies in the I/O region. */
// @ts-ignore: decorator
@inline
export function inIo(pointer: u32, length: u32): bool {
  return pointer >= IO && <u64>pointer + <u64>length <= <u64>(IO + IO_SIZE);
}

/** Writes the text's ASCII bytes; returns how many, or 0 when they do not fit. */
export function writeText(text: string, out: u32, capacity: u32): u32 {
  const length = <u32>text.length;
  if (!inIo(out, capacity) || length > capacity) return 0;
  for (let i: u32 = 0; i < length; i++) store<u8>(out + i, <u8>text.charCodeAt(i));
  return length;
}

/** True when all bytes are zero. */
export function allZero(pointer: u32, length: u32): bool {
  let i: u32 = 0;
  for (; i + 8 <= length; i += 8) if (load<u64>(pointer + i) != 0) return false;
  for (; i < length; i++) if (load<u8>(pointer + i) != 0) return false;
  return true;
}
