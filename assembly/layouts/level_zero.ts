// The Level Zero handle inside a SYCL one. Nothing there says which of the two forms it has: bytes that the classic one
// leaves zero tell them apart, but not for a pid below 16. So both are described by the same fields.
import { Field, Value, field } from "../describe/field";
import { allZero } from "../io";
import { Verdict } from "../verdict";
import * as classic from "./level_zero_classic";
import * as opaque from "./level_zero_opaque";

export function check(p: u32, header: u32): Verdict {
  return isClassic(p) ? classic.check(p, header) : opaque.check(p, header);
}

export function describe(p: u32): void {
  field(p, 4, Field.ZeFd, Value.Signed);
  field(p + 4, 4, Field.Padding, Value.Bytes);
  field(p + 8, 8, Field.ZePoolOffset, Value.Unsigned);
  field(p + 16, 4, Field.ZePidOrMemoryType, Value.Unsigned);
  opaque.describeTail(p);
}

// Byte 16 is the classic memory type, or the low byte of the opaque pid.
function isClassic(p: u32): bool {
  return load<u8>(p + 16) < classic.MEMORY_TYPES && allZero(p + 17, 47);
}
