// SYCL over Unified Runtime's CUDA adapter: UMF's head, then CUDA's 64 bytes; 104 bytes.
import { Verdict } from "../verdict";
import * as cuda from "./cuda";
import { UMF_HEAD, checkHead, describeHead } from "./umf";

export function matches(length: u32): bool {
  return length == 104;
}

export function check(p: u32, header: u32): Verdict {
  const verdict = checkHead(p, header);
  if (verdict != Verdict.Ok) return verdict;
  return cuda.check(p + UMF_HEAD, header);
}

export function describe(p: u32): void {
  describeHead(p);
  cuda.describe(p + UMF_HEAD);
}
