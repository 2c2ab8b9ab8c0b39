import { Verdict } from "./verdict";

/** Address of the byte that the last refused rule is about. */
export let failedAt: u32 = 0;

/** Notes where a rule is broken, and gives its verdict on. */
export function fail(verdict: Verdict, address: u32): Verdict {
  failedAt = address;
  return verdict;
}
