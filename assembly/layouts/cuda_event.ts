// CUDA's CUipcEventHandle (cuIpcGetEventHandle): 64 bytes, opaque by contract. The first four were seen to hold the
// producer's pid (H200, driver 580, CUDA 13).
import { fail } from "../fail";
import { Field, Value, field } from "../describe/field";
import { Verdict } from "../verdict";
import { EVENT_HANDLE, Header } from "../wire";

export function matches(length: u32): bool {
  return length == EVENT_HANDLE;
}

/** An event shares no memory: the header's sizes are those of its handle, so that no other can be meant. */
export function check(p: u32, header: u32): Verdict {
  if (header && (load<u64>(header + Header.allocationSize) != EVENT_HANDLE || load<u64>(header + Header.nbytes) != EVENT_HANDLE)) {
    return fail(Verdict.HandleDisagrees, p);
  }
  return Verdict.Ok;
}

export function describe(p: u32): void {
  field(p, 4, Field.CudaObservedPid, Value.Unsigned);
  field(p + 4, 60, Field.CudaOpaque, Value.Bytes);
}
