// PyTorch's storage._share_cuda_(): version byte, type byte ('c': made by cudaMalloc), CUDA's 64 bytes.
import { fail } from "../fail";
import { Field, Value, field } from "../describe/field";
import { Verdict } from "../verdict";
import * as cuda from "./cuda";

const VERSION: u32 = 2; // seen with torch 2.11
const CUDA_MALLOC: u32 = 0x63;

export function matches(length: u32): bool {
  return length == 66;
}

export function check(p: u32, header: u32): Verdict {
  if (load<u8>(p) != VERSION) return fail(Verdict.HandleUnknownVersion, p);
  if (load<u8>(p + 1) != CUDA_MALLOC) return fail(Verdict.HandleUnknownType, p + 1);
  return cuda.check(p + 2, header);
}

export function describe(p: u32): void {
  field(p, 1, Field.TorchVersion, Value.Unsigned);
  field(p + 1, 1, Field.TorchType, Value.Text);
  cuda.describe(p + 2);
}
