// Our own: CUDA's virtual memory has no handle bytes, only a descriptor (cuMemExportToShareableHandle), which travels
// beside these 32. The driver maps physical memory whole, so its size must be known on the other side.
import { fail } from "../fail";
import { Field, Value, field } from "../describe/field";
import { allZero } from "../io";
import { Verdict } from "../verdict";
import { Header, MAX_SIZE } from "../wire";

export function matches(length: u32): bool {
  return length == 32;
}

export function check(p: u32, header: u32): Verdict {
  const size = load<u64>(p);
  if (size == 0) return fail(Verdict.HandleZeroSize, p);
  if (size > MAX_SIZE) return fail(Verdict.SizeTooLarge, p);
  if (load<i32>(p + 8) < 0) return fail(Verdict.HandleNegativeFd, p + 8);
  if (!allZero(p + 12, 20)) return fail(Verdict.HandlePadding, p + 12);
  if (header && size < load<u64>(header + Header.allocationSize)) return fail(Verdict.HandleDisagrees, p);
  return Verdict.Ok;
}

export function describe(p: u32): void {
  field(p, 8, Field.CudaVmmSize, Value.Unsigned);
  field(p + 8, 4, Field.CudaVmmFd, Value.Signed);
  field(p + 12, 20, Field.Padding, Value.Bytes);
}
