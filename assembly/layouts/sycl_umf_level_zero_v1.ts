// SYCL over Unified Runtime's Level Zero adapter v1: UMF's head, pid again, Level Zero's handle; 108 bytes.
import { fail } from "../fail";
import { Field, Value, field } from "../describe/field";
import { Verdict } from "../verdict";
import * as levelZero from "./level_zero";
import { checkHead, describeHead } from "./umf";

export function matches(length: u32): bool {
  return length == 108;
}

export function check(p: u32, header: u32): Verdict {
  const verdict = checkHead(p, header);
  if (verdict != Verdict.Ok) return verdict;
  if (load<u32>(p + 40) != load<u32>(p + 16)) return fail(Verdict.HandlePidsDiffer, p + 40);
  return levelZero.check(p + 44, header);
}

export function describe(p: u32): void {
  describeHead(p);
  field(p + 40, 4, Field.UmfInnerPid, Value.Signed);
  levelZero.describe(p + 44);
}
