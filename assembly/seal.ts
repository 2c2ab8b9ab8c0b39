// Making an envelope in place: begin writes an empty header, the caller fills its fields in, section appends, end
// closes it. The total length is the running position until then. What end seals has passed every rule.
import { makeTag } from "./authentication";
import { crc32c } from "./digest/crc32c";
import { checkEnvelope } from "./envelope";
import { fail } from "./fail";
import { Key, validKey } from "./keys";
import { Verdict } from "./verdict";
import {
  CHECKSUM, Flags, Header, MAGIC, MAJOR, MAX_ENVELOPE, MINOR, Section, TAG, headerCheck, padded, sectionCheck, trailerLength,
} from "./wire";

export function sealBegin(p: u32, capacity: u32): Verdict {
  if (capacity < Header.length + CHECKSUM) return fail(Verdict.BufferTooSmall, p);
  memory.fill(p, 0, Header.length);
  store<u64>(p, MAGIC | (<u64>MAJOR << 48) | (<u64>MINOR << 56));
  store<u16>(p + Header.headerLength, <u16>Header.length);
  store<u32>(p + Header.totalLength, Header.length);
  return Verdict.Ok;
}

/** `bytes` may be where they belong already: 8 bytes behind the running position. */
export function sealSection(p: u32, capacity: u32, type: u32, flags: u32, bytes: u32, length: u32): Verdict {
  const at = load<u32>(p + Header.totalLength);
  const end = <u64>at + Section.bytes + ((<u64>length + 7) & ~7) + CHECKSUM;
  if (at < Header.length || end > <u64>capacity || end > <u64>MAX_ENVELOPE) return fail(Verdict.BufferTooSmall, p);
  const section = p + at;
  const to = section + Section.bytes;
  memory.copy(to, bytes, length);
  memory.fill(to + length, 0, padded(length) - length);
  store<u16>(section, <u16>type);
  store<u8>(section + Section.flags, <u8>flags);
  store<u32>(section + Section.length, length);
  store<u8>(section + Section.check, <u8>sectionCheck(section));
  store<u32>(p + Header.totalLength, at + Section.bytes + padded(length));
  store<u16>(p + Header.sectionCount, load<u16>(p + Header.sectionCount) + 1);
  return Verdict.Ok;
}

/**
 * The envelope's length, or minus the verdict that it breaks. `key` is a key record, or 0: with one the envelope is
 * authenticated.
 */
export function sealEnd(p: u32, capacity: u32, key: u32): i32 {
  return close(p, load<u32>(p + Header.totalLength), capacity, key);
}

/** A tag for the valid envelope at `p`, instead of the one that it may have. Its length, or minus the verdict. */
export function authenticate(p: u32, capacity: u32, key: u32): i32 {
  const length = load<u32>(p + Header.totalLength);
  const verdict = checkEnvelope(p, min(length, capacity));
  return verdict == Verdict.Ok ? close(p, length - trailerLength(p), capacity, key) : -<i32>verdict;
}

// Everything behind the sections, which end at `at`, and what of the header depends on it.
function close(p: u32, at: u32, capacity: u32, key: u32): i32 {
  if (key != 0 && !validKey(key)) return -(<i32>fail(Verdict.BadKey, p));
  const total = <u64>at + CHECKSUM + (key != 0 ? TAG : 0);
  if (at < Header.length || total > <u64>capacity || total > <u64>MAX_ENVELOPE) return -(<i32>fail(Verdict.BufferTooSmall, p));
  if (key != 0) {
    store<u16>(p + Header.flags, <u16>(load<u16>(p + Header.flags) | Flags.AUTHENTICATED));
    store<u32>(p + Header.keyId, load<u32>(key + Key.id));
  }
  store<u32>(p + Header.totalLength, <u32>total);
  store<u8>(p + Header.check, <u8>headerCheck(p));
  store<u32>(p + at, crc32c(p, at));
  const verdict = checkEnvelope(p, <u32>total);
  if (verdict != Verdict.Ok) return -<i32>verdict;
  if (key != 0) makeTag(p, at + CHECKSUM, key, p + at + CHECKSUM);
  return <i32>total;
}
