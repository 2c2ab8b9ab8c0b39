// Keys as a caller passes them: records of 72 bytes in the I/O region, u32 id, u32 length, 64 bytes of key padded with
// zeros. Every call that takes some ends with them wiped.
import { IO, IO_SIZE, allZero } from "./io";

export const KEY_RECORD: u32 = 72;
export const MAX_KEYS: u32 = 16;
const LEAST: u32 = 16; // bytes of a key
export const MOST: u32 = 64; // SHA-256's block: a longer key would be hashed to 32 bytes

export namespace Key {
  export const id: u32 = 0;
  export const length: u32 = 4;
  export const bytes: u32 = 8;
}

export function validKey(record: u32): bool {
  const length = load<u32>(record + Key.length);
  if (load<u32>(record + Key.id) == 0 || length < LEAST || length > MOST) return false;
  return allZero(record + Key.bytes + length, MOST - length);
}

/** True when all of at most MAX_KEYS records are valid and no id stands twice. */
export function validKeys(keys: u32, count: u32): bool {
  if (count > MAX_KEYS) return false;
  for (let i: u32 = 0; i < count; i++) {
    const record = keys + i * KEY_RECORD;
    if (!validKey(record) || findKey(keys, i, load<u32>(record + Key.id)) != 0) return false;
  }
  return true;
}

/** The record of that id, or 0. */
export function findKey(keys: u32, count: u32, id: u32): u32 {
  for (let i: u32 = 0; i < count; i++) {
    if (load<u32>(keys + i * KEY_RECORD) == id) return keys + i * KEY_RECORD;
  }
  return 0;
}

/** Of records that lie partly outside the I/O region, what is inside. */
export function wipeKeys(keys: u32, count: u32): void {
  const start = max<u64>(keys, IO);
  const end = min<u64>(<u64>keys + <u64>count * KEY_RECORD, IO + IO_SIZE);
  if (start < end) memory.fill(<u32>start, 0, <u32>(end - start));
}
