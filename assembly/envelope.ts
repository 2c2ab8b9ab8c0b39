// The envelope by itself: outside, header, sections. docs/wire-format.md has the rules in this order.
import { crc32c } from "./digest/crc32c";
import { fail } from "./fail";
import { layoutBackend, layoutKind } from "./layouts/layouts";
import { checkSections } from "./sections";
import { Verdict } from "./verdict";
import { BackendCode, Flags, Header, Kind, MAGIC, MAJOR, MAX_ENVELOPE, MAX_SIZE, headerCheck, isAuthenticated, trailerLength } from "./wire";

const MAGIC_BYTES: u32 = 6;

export function checkEnvelope(p: u32, length: u32): Verdict {
  const verdict = checkOutside(p, length);
  if (verdict != Verdict.Ok) return verdict;
  const header = checkHeader(p);
  if (header != Verdict.Ok) return header;
  return checkSections(p, p + load<u16>(p + Header.headerLength), p + length - trailerLength(p));
}

function checkOutside(p: u32, length: u32): Verdict {
  if (length == 0) return fail(Verdict.Empty, p);
  const known = length < MAGIC_BYTES ? length : MAGIC_BYTES;
  for (let i: u32 = 0; i < known; i++) {
    if (load<u8>(p + i) != <u8>(MAGIC >> (<u64>i << 3))) return fail(Verdict.NotAnEnvelope, p + i);
  }
  if (length <= Header.major) return fail(Verdict.Truncated, p + length);
  if (load<u8>(p + Header.major) != MAJOR) return fail(Verdict.UnsupportedVersion, p + Header.major);
  if (length < Header.length) return fail(Verdict.Truncated, p + length);
  // A later minor version may have appended to the header.
  const headerLength: u32 = load<u16>(p + Header.headerLength);
  if (headerLength != Header.length && (load<u8>(p + Header.minor) == 0 || headerLength < Header.length || (headerLength & 7) != 0)) {
    return fail(Verdict.BadHeaderLength, p + Header.headerLength);
  }
  const total = load<u32>(p + Header.totalLength);
  if (total > MAX_ENVELOPE) return fail(Verdict.TooLong, p + Header.totalLength);
  const trailer = trailerLength(p);
  if (total < headerLength + trailer || ((total - headerLength - trailer) & 7) != 0) {
    return fail(Verdict.BadTotalLength, p + Header.totalLength);
  }
  if (length < total) return fail(Verdict.Truncated, p + length);
  if (length > total) return fail(Verdict.TrailingBytes, p + total);
  const end = p + total - trailer;
  if (crc32c(p, end - p) != load<u32>(end)) return fail(Verdict.BadChecksum, end);
  return Verdict.Ok;
}

function checkHeader(p: u32): Verdict {
  if (load<u8>(p + Header.check) != headerCheck(p)) return fail(Verdict.BadCheckByte, p + Header.check);
  if ((load<u16>(p + Header.flags) & ~Flags.AUTHENTICATED) != 0) return fail(Verdict.UnknownFlags, p + Header.flags);
  if (load<u8>(p + Header.reserved) != 0) return fail(Verdict.ReservedNotZero, p + Header.reserved);
  const kind: i32 = load<u8>(p + Header.kind);
  if (kind < Kind.Memory || kind > Kind.RemoteMemory) return fail(Verdict.UnknownKind, p + Header.kind);
  const backend: i32 = load<u8>(p + Header.backend);
  if (backend < BackendCode.Host || backend > BackendCode.Cuda) return fail(Verdict.UnknownBackend, p + Header.backend);
  const layout: i32 = load<u16>(p + Header.layout);
  const owner = layoutBackend(layout);
  if (owner == 0) return fail(Verdict.UnknownLayout, p + Header.layout);
  if (owner != backend || layoutKind(layout) != kind) return fail(Verdict.LayoutMismatch, p + Header.layout);

  const size = load<u64>(p + Header.allocationSize);
  const offset = load<u64>(p + Header.offset);
  const nbytes = load<u64>(p + Header.nbytes);
  if (nbytes == 0) return fail(Verdict.ZeroNbytes, p + Header.nbytes);
  if (offset + nbytes < offset) return fail(Verdict.RangeOverflow, p + Header.offset);
  if ((size | offset | nbytes) > MAX_SIZE) return fail(Verdict.SizeTooLarge, p + Header.allocationSize);
  if (offset + nbytes > size) return fail(Verdict.RangeOutsideAllocation, p + Header.offset);

  if (load<u64>(p + Header.allocationRandom) == 0) return fail(Verdict.BadAllocationId, p + Header.allocationRandom);
  if (load<u64>(p + Header.allocationCounter) == 0) return fail(Verdict.BadAllocationId, p + Header.allocationCounter);
  if (load<i32>(p + Header.pid) <= 0) return fail(Verdict.BadPid, p + Header.pid);
  if (isAuthenticated(p) != (load<u32>(p + Header.keyId) != 0)) {
    return fail(isAuthenticated(p) ? Verdict.AuthenticationWithoutKey : Verdict.KeyWithoutAuthentication, p + Header.keyId);
  }
  const created = load<u64>(p + Header.created);
  const expires = load<u64>(p + Header.expires);
  if (created > MAX_SIZE) return fail(Verdict.BadLifetime, p + Header.created);
  if (expires > MAX_SIZE || (expires != 0 && expires < created)) return fail(Verdict.BadLifetime, p + Header.expires);
  return Verdict.Ok;
}
