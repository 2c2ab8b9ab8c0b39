// CUDA's CUmemPoolPtrExportData (cuMemPoolExportPointer): 64 bytes, opaque by contract; the pool's descriptor travels beside
// them. Two places are described because they were seen to hold the producer's pid and the allocation's size (H200,
// driver 580, CUDA 13).
import { Field, Value, field } from "../describe/field";
import { Verdict } from "../verdict";

export function matches(length: u32): bool {
  return length == 64;
}

export function check(p: u32, header: u32): Verdict {
  return Verdict.Ok;
}

export function describe(p: u32): void {
  field(p, 4, Field.CudaObservedPid, Value.Unsigned);
  field(p + 4, 28, Field.CudaOpaque, Value.Bytes);
  field(p + 32, 8, Field.CudaObservedSize, Value.Unsigned);
  field(p + 40, 24, Field.CudaOpaque, Value.Bytes);
}
