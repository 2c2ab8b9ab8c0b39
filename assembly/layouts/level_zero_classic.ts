// Level Zero's 64 bytes, classic: u64 handle (the fd in its low half), u64 pool offset, u8 memory type, zeros.
import { fail } from "../fail";
import { Field, Value, field } from "../describe/field";
import { allZero } from "../io";
import { Verdict } from "../verdict";
import { Header } from "../wire";

export const MEMORY_TYPES: u32 = 16;

export function matches(length: u32): bool {
  return length == 64;
}

export function check(p: u32, header: u32): Verdict {
  if (load<i32>(p) < 0) return fail(Verdict.HandleNegativeFd, p);
  if (load<u32>(p + 4) != 0) return fail(Verdict.HandlePadding, p + 4);
  if (header && load<u64>(p + 8) >= load<u64>(header + Header.allocationSize)) return fail(Verdict.HandleOffsetOutside, p + 8);
  if (load<u8>(p + 16) >= MEMORY_TYPES) return fail(Verdict.HandleUnknownType, p + 16);
  if (!allZero(p + 17, 47)) return fail(Verdict.HandlePadding, p + 17);
  return Verdict.Ok;
}

export function describe(p: u32): void {
  field(p, 4, Field.ZeFd, Value.Signed);
  field(p + 4, 4, Field.Padding, Value.Bytes);
  field(p + 8, 8, Field.ZePoolOffset, Value.Unsigned);
  field(p + 16, 1, Field.ZeMemoryType, Value.Unsigned);
  field(p + 17, 47, Field.Padding, Value.Bytes);
}
