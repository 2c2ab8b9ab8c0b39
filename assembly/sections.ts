// The sections of known type: each checks its own bytes.
import { checkArray } from "./array";
import { fail } from "./fail";
import { checkHandle, layoutDescriptor } from "./layouts/layouts";
import { Verdict } from "./verdict";
import {
  DESCRIPTOR_ENTRY, DescriptorKind, EVENT_HANDLE, FurtherRole, Header, MAX_DESCRIPTORS, Section, SectionType, padded, sectionCheck,
} from "./wire";

const MAX_NAME: u32 = 255;

/** All sections in [at, end) of the envelope at `header`. */
export function checkSections(header: u32, at: u32, end: u32): Verdict {
  const layout: i32 = load<u16>(header + Header.layout);
  const start = at;
  let previous: i32 = 0;
  let count: u32 = 0;
  let handle: u32 = 0;
  let entries: u32 = 0;
  let hasEvent = false;
  // What is left is a multiple of 8 all the way: there is room for a section header, and for padding where there is for bytes.
  while (at < end) {
    if (load<u8>(at + Section.check) != sectionCheck(at)) return fail(Verdict.BadCheckByte, at + Section.check);
    const type: i32 = load<u16>(at + Section.type);
    const flags: u32 = load<u8>(at + Section.flags);
    const length = load<u32>(at + Section.length);
    const room = end - at - Section.bytes;
    if (length > room) return fail(Verdict.SectionTruncated, at + Section.length);
    if (flags > Section.CRITICAL) return fail(Verdict.BadSectionFlags, at + Section.flags);
    if (type < previous || type == 0 || (type == previous && type != SectionType.FurtherHandle)) {
      return fail(Verdict.SectionOrder, at);
    }
    const bytes = at + Section.bytes;
    const rest = length & 7;
    if (rest != 0 && load<u64>(bytes + length - rest) >> (<u64>rest << 3) != 0) {
      return fail(Verdict.SectionPadding, bytes + length);
    }
    if (type <= SectionType.Descriptors) {
      if (flags != Section.CRITICAL) return fail(Verdict.BadSectionFlags, at + Section.flags);
      if (type == SectionType.Handle) {
        handle = bytes;
        const verdict = checkHandle(layout, bytes, length, header);
        if (verdict != Verdict.Ok) return verdict;
      } else if (type == SectionType.FurtherHandle) {
        const role = length > 8 && load<u32>(bytes + 4) == 0 ? load<u32>(bytes) : 0;
        if (role == 0) return fail(Verdict.BadFurtherHandle, bytes);
        if (role == FurtherRole.Event) {
          // Two would leave open which one to wait for.
          if (length != 8 + EVENT_HANDLE || hasEvent) return fail(Verdict.BadFurtherHandle, bytes);
          hasEvent = true;
        }
      } else {
        entries = at;
        const verdict = checkDescriptors(bytes, length);
        if (verdict != Verdict.Ok) return verdict;
      }
    } else if (type <= SectionType.Name) {
      if (flags != 0) return fail(Verdict.BadSectionFlags, at + Section.flags);
      const verdict = type == SectionType.Array ? checkArray(bytes, length, load<u64>(header + Header.nbytes)) : checkName(bytes, length);
      if (verdict != Verdict.Ok) return verdict;
    } else if (flags == Section.CRITICAL) {
      return fail(Verdict.UnknownCriticalSection, at);
    }
    previous = type;
    count++;
    at = bytes + padded(length);
  }
  if (count != load<u16>(header + Header.sectionCount)) return fail(Verdict.SectionCount, header + Header.sectionCount);
  if (handle == 0) return fail(Verdict.MissingHandle, start);
  const wanted = layoutDescriptor(layout);
  return wanted == 0 ? Verdict.Ok : checkWanted(wanted, handle, entries);
}

function checkDescriptors(p: u32, length: u32): Verdict {
  if (length == 0 || length % DESCRIPTOR_ENTRY != 0 || length > MAX_DESCRIPTORS * DESCRIPTOR_ENTRY) {
    return fail(Verdict.BadDescriptorEntry, p);
  }
  for (let i: u32 = 0; i < length; i += DESCRIPTOR_ENTRY) {
    const entry = p + i;
    const kind = load<i32>(entry);
    if (kind < DescriptorKind.Memfd || kind > DescriptorKind.Opaque) return fail(Verdict.BadDescriptorEntry, entry);
    if (load<u32>(entry + 4) != 0) return fail(Verdict.BadDescriptorEntry, entry + 4);
    // memfd and dma-buf have a file identity, opaque ones have none.
    if ((kind == DescriptorKind.Opaque) != ((load<u64>(entry + 8) | load<u64>(entry + 16)) == 0)) {
      return fail(Verdict.BadDescriptorEntry, entry + 8);
    }
  }
  return Verdict.Ok;
}

/** Exactly one descriptor of that kind is wanted; a memfd is the one that the host's handle names. */
function checkWanted(kind: i32, handle: u32, section: u32): Verdict {
  if (section == 0 || load<u32>(section + Section.length) != DESCRIPTOR_ENTRY) {
    return fail(Verdict.MissingDescriptorEntry, section ? section : handle);
  }
  const entry = section + Section.bytes;
  if (load<i32>(entry) != kind) return fail(Verdict.MissingDescriptorEntry, entry);
  if (kind != DescriptorKind.Memfd) return Verdict.Ok;
  if (load<u64>(entry + 8) != load<u64>(handle)) return fail(Verdict.HandleDisagrees, handle);
  if (load<u64>(entry + 16) != load<u64>(handle + 8)) return fail(Verdict.HandleDisagrees, handle + 8);
  return Verdict.Ok;
}

/** Well-formed UTF-8 (RFC 3629) without control characters. */
function checkName(p: u32, length: u32): Verdict {
  if (length == 0 || length > MAX_NAME) return fail(Verdict.BadName, p);
  let i: u32 = 0;
  while (i < length) {
    const b: u32 = load<u8>(p + i);
    if (b < 0x80) {
      if (b < 0x20 || b == 0x7f) return fail(Verdict.BadName, p + i);
      i++;
      continue;
    }
    const more: u32 = b >= 0xf0 ? 3 : b >= 0xe0 ? 2 : 1;
    if (b < 0xc2 || b > 0xf4 || i + more >= length) return fail(Verdict.BadName, p + i);
    let low: u32 = 0x80;
    let high: u32 = 0xbf;
    if (b == 0xe0) low = 0xa0; // overlong
    else if (b == 0xed) high = 0x9f; // surrogates
    else if (b == 0xf0) low = 0x90; // overlong
    else if (b == 0xf4) high = 0x8f; // above U+10FFFF
    else if (b == 0xc2) low = 0xa0; // C1 controls
    const second: u32 = load<u8>(p + i + 1);
    if (second < low || second > high) return fail(Verdict.BadName, p + i + 1);
    for (let k: u32 = 2; k <= more; k++) {
      if ((load<u8>(p + i + k) & 0xc0) != 0x80) return fail(Verdict.BadName, p + i + k);
    }
    i += more + 1;
  }
  return Verdict.Ok;
}
