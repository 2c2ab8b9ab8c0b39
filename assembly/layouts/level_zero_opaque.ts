// Level Zero's 64 bytes, opaque: as the classic ones, then producer pid, handle type and memory type; by the driver's
// age, then nothing, or 32 reserved bytes and a compression flag, or (newest) a mirror of the handle before those.
// The reserved bytes are fabric data and are passed on as they are.
import { fail } from "../fail";
import { Field, Value, field } from "../describe/field";
import { Verdict } from "../verdict";
import { Header } from "../wire";

const HANDLE_TYPES: u32 = 2; // fd, NT
const MEMORY_TYPES: u32 = 16;

export function matches(length: u32): bool {
  return length == 64;
}

export function check(p: u32, header: u32): Verdict {
  if (load<i32>(p) < 0) return fail(Verdict.HandleNegativeFd, p);
  if (load<u32>(p + 4) != 0) return fail(Verdict.HandlePadding, p + 4);
  if (load<i32>(p + 16) <= 0) return fail(Verdict.HandleBadPid, p + 16);
  if (load<u8>(p + 20) >= HANDLE_TYPES) return fail(Verdict.HandleUnknownType, p + 20);
  if (load<u8>(p + 21) >= MEMORY_TYPES) return fail(Verdict.HandleUnknownType, p + 21);
  const mirror = load<u64>(p + 22);
  if (mirror != 0 && mirror != load<u64>(p)) return fail(Verdict.HandleMirrorDiffers, p + 22);
  if (load<u8>(p + 62) > 1) return fail(Verdict.HandleUnknownType, p + 62);
  if (load<u8>(p + 63) != 0) return fail(Verdict.HandlePadding, p + 63);
  if (header) {
    if (load<u64>(p + 8) >= load<u64>(header + Header.allocationSize)) return fail(Verdict.HandleOffsetOutside, p + 8);
    if (load<u32>(p + 16) != load<u32>(header + Header.pid)) return fail(Verdict.HandleDisagrees, p + 16);
  }
  return Verdict.Ok;
}

export function describe(p: u32): void {
  field(p, 4, Field.ZeFd, Value.Signed);
  field(p + 4, 4, Field.Padding, Value.Bytes);
  field(p + 8, 8, Field.ZePoolOffset, Value.Unsigned);
  field(p + 16, 4, Field.ZePid, Value.Signed);
  describeTail(p);
}

export function describeTail(p: u32): void {
  field(p + 20, 1, Field.ZeHandleType, Value.Unsigned);
  field(p + 21, 1, Field.ZeMemoryType, Value.Unsigned);
  field(p + 22, 8, Field.ZeMirror, Value.Unsigned);
  field(p + 30, 32, Field.ZeReserved, Value.Bytes);
  field(p + 62, 1, Field.ZeCompressed, Value.Unsigned);
  field(p + 63, 1, Field.Padding, Value.Bytes);
}
