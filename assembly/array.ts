// Array metadata in DLPack's terms: u8 dtype code, u8 bits, u16 lanes, u32 ndim, u64 zero, then per dimension i64 shape
// and i64 stride (in elements).
import { fail } from "./fail";
import { Verdict } from "./verdict";

const MAX_NDIM: u32 = 32;
const DTYPE_CODES: u32 = 18; // DLPack 1.1: int, uint, float, opaque, bfloat, complex, bool, and the 8-, 6- and 4-bit floats
const ARRAY_HEAD: u32 = 16;

/** `nbytes`, at most 2^53-1, is the size of the range that the array lies in. */
export function checkArray(p: u32, length: u32, nbytes: u64): Verdict {
  if (length < ARRAY_HEAD) return fail(Verdict.BadArray, p);
  const bits: u64 = <u64>load<u8>(p + 1) * <u64>load<u16>(p + 2);
  const ndim = load<u32>(p + 4);
  if (load<u8>(p) >= DTYPE_CODES || bits == 0) return fail(Verdict.BadArray, p);
  if (ndim > MAX_NDIM || length != ARRAY_HEAD + 16 * ndim) return fail(Verdict.BadArray, p + 4);
  if (load<u64>(p + 8) != 0) return fail(Verdict.BadArray, p + 8);
  const elements = (nbytes << 3) / bits; // whole ones that fit
  let last: u64 = 0;
  let empty = false;
  for (let i: u32 = 0; i < ndim; i++) {
    const at = p + ARRAY_HEAD + 16 * i;
    const shape = load<u64>(at);
    const stride = load<u64>(at + 8);
    // Negative numbers are huge ones here.
    if (shape >= 1 << 62 || stride >= 1 << 62) return fail(Verdict.BadArray, at);
    if (shape == 0) empty = true;
    else if (shape > 1 && stride != 0) {
      if (shape - 1 > (<u64>1 << 62) / stride) return fail(Verdict.BadArray, at);
      last += (shape - 1) * stride;
      if (last > 1 << 62) return fail(Verdict.BadArray, at);
    }
  }
  if (!empty && last >= elements) return fail(Verdict.BadArray, p + ARRAY_HEAD);
  return Verdict.Ok;
}
