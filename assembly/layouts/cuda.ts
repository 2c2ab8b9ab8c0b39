// CUDA's 64 bytes are opaque by contract: nothing in them decides acceptance. Two places are described because they
// were seen to hold the producer's pid and the allocation's size (H200, driver 580, CUDA 13).
import { Field, Value, field } from "../describe/field";
import { Verdict } from "../verdict";

export function matches(length: u32): bool {
  return length == 64;
}

export function check(p: u32, header: u32): Verdict {
  return Verdict.Ok;
}

export function describe(p: u32): void {
  field(p, 8, Field.CudaOpaque, Value.Bytes);
  field(p + 8, 8, Field.CudaObservedPid, Value.Unsigned);
  field(p + 16, 8, Field.CudaObservedSize, Value.Unsigned);
  field(p + 24, 40, Field.CudaOpaque, Value.Bytes);
}
