// The 40-byte head that UMF puts before a vendor's handle, and the pid that its Level Zero provider repeats.
// Source: facts of oneapi-src/unified-memory-framework's IPC data, seen in dumps of real handles.
import { fail } from "../fail";
import { Field, Value, field } from "../describe/field";
import { Verdict } from "../verdict";
import { Header, MAX_SIZE } from "../wire";

export const UMF_HEAD: u32 = 40;

/**
 * `header` is the envelope's address, or 0 for a raw handle: the runtime leaves the padding of its structure as it finds
 * it, so a raw handle may have anything there. In an envelope it is zero.
 */
export function checkHead(p: u32, header: u32): Verdict {
  if (load<i32>(p + 16) <= 0) return fail(Verdict.HandleBadPid, p + 16);
  if (header && load<u32>(p + 20) != 0) return fail(Verdict.HandlePadding, p + 20);
  const size = load<u64>(p + 24);
  if (size == 0) return fail(Verdict.HandleZeroSize, p + 24);
  if (size > MAX_SIZE) return fail(Verdict.SizeTooLarge, p + 24);
  if (load<u64>(p + 32) >= size) return fail(Verdict.HandleOffsetOutside, p + 32);
  if (header) {
    if (load<u32>(p + 16) != load<u32>(header + Header.pid)) return fail(Verdict.HandleDisagrees, p + 16);
    if (size != load<u64>(header + Header.allocationSize)) return fail(Verdict.HandleDisagrees, p + 24);
    if (load<u64>(p + 32) != load<u64>(header + Header.offset)) return fail(Verdict.HandleDisagrees, p + 32);
  }
  return Verdict.Ok;
}

export function describeHead(p: u32): void {
  field(p, 8, Field.UmfHandleId, Value.Unsigned);
  field(p + 8, 8, Field.UmfBase, Value.Pointer);
  field(p + 16, 4, Field.UmfPid, Value.Signed);
  field(p + 20, 4, Field.Padding, Value.Bytes);
  field(p + 24, 8, Field.UmfBaseSize, Value.Unsigned);
  field(p + 32, 8, Field.UmfOffset, Value.Unsigned);
}
