// Making an envelope in place: begin writes an empty header, the caller fills its fields in, section appends, end
// closes it. The total length is the running position until then. What end seals has passed every rule.
import { crc32c } from "./digest/crc32c";
import { checkEnvelope } from "./envelope";
import { fail } from "./fail";
import { Verdict } from "./verdict";
import { Header, MAGIC, MAJOR, MAX_ENVELOPE, MINOR, Section, headerCheck, padded, sectionCheck } from "./wire";

const TRAILER: u32 = 4;

export function sealBegin(p: u32, capacity: u32): Verdict {
  if (capacity < Header.length + TRAILER) return fail(Verdict.BufferTooSmall, p);
  memory.fill(p, 0, Header.length);
  store<u64>(p, MAGIC | (<u64>MAJOR << 48) | (<u64>MINOR << 56));
  store<u16>(p + Header.headerLength, <u16>Header.length);
  store<u32>(p + Header.totalLength, Header.length);
  return Verdict.Ok;
}

/** `bytes` may be where they belong already: 8 bytes behind the running position. */
export function sealSection(p: u32, capacity: u32, type: u32, flags: u32, bytes: u32, length: u32): Verdict {
  const at = load<u32>(p + Header.totalLength);
  const end = <u64>at + Section.bytes + ((<u64>length + 7) & ~7) + TRAILER;
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

/** The envelope's length, or minus the verdict that it breaks. */
export function sealEnd(p: u32, capacity: u32): i32 {
  const at = load<u32>(p + Header.totalLength);
  if (at < Header.length || <u64>at + TRAILER > <u64>capacity) return -(<i32>fail(Verdict.BufferTooSmall, p));
  const total = at + TRAILER;
  store<u32>(p + Header.totalLength, total);
  store<u8>(p + Header.check, <u8>headerCheck(p));
  store<u32>(p + at, crc32c(p, at));
  const verdict = checkEnvelope(p, total);
  return verdict == Verdict.Ok ? <i32>total : -(<i32>verdict);
}
