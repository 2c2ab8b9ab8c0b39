// SYCL over Unified Runtime's Level Zero adapter v2: UMF's head, pid again, size, Level Zero's handle; 120 bytes.
import { fail } from "../fail";
import { Field, Value, field } from "../describe/field";
import { Verdict } from "../verdict";
import * as levelZero from "./level_zero";
import { checkHead, describeHead } from "./umf";

export function matches(length: u32): bool {
  return length == 120;
}

export function check(p: u32, header: u32): Verdict {
  const verdict = checkHead(p, header);
  if (verdict != Verdict.Ok) return verdict;
  if (load<u32>(p + 40) != load<u32>(p + 16)) return fail(Verdict.HandlePidsDiffer, p + 40);
  if (header && load<u32>(p + 44) != 0) return fail(Verdict.HandlePadding, p + 44);
  if (load<u64>(p + 48) != load<u64>(p + 24)) return fail(Verdict.HandleSizesDiffer, p + 48);
  return levelZero.check(p + 56, header);
}

export function describe(p: u32): void {
  describeHead(p);
  field(p + 40, 4, Field.UmfInnerPid, Value.Signed);
  field(p + 44, 4, Field.Padding, Value.Bytes);
  field(p + 48, 8, Field.UmfInnerSize, Value.Unsigned);
  levelZero.describe(p + 56);
}
