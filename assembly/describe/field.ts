// A description is a list of fields, 24 bytes each: u32 offset, u32 length, u16 field id, u8 value kind, u8 zero,
// u32 index (which section, entry or dimension), u64 value (integers of up to 8 bytes; otherwise zero).
// Fields cover the described bytes without gap or overlap, in order.

export const enum Value { Unsigned = 1, Signed = 2, Pointer = 3, Bytes = 4, Uuid = 5, Text = 6, Time = 7, Named = 8, Flags = 9 }

export const enum Field {
  Magic = 1, Major, Minor, HeaderLength, Flags, TotalLength, Kind, Backend, Layout, SectionCount, Reserved, DeviceUuid,
  AllocationSize, Offset, Nbytes, AllocationRandom, AllocationCounter, Pid, KeyId, StartTime, PidNamespace, BootId,
  Created, Expires, Nonce, HeaderExtension, Crc32c, HeaderCheck, Tag,
  SectionType = 32, SectionFlags, SectionCheck, SectionLength, SectionBytes, Padding,
  EntryKind = 40, EntryReserved, EntryDevice, EntryInode,
  ArrayDtypeCode = 48, ArrayDtypeBits, ArrayDtypeLanes, ArrayNdim, ArrayReserved, ArrayShape, ArrayStride,
  Name = 56, FurtherRole, FurtherReserved, FurtherBytes,
  HostDevice = 64, HostInode, HostSize, HostFd, HostFlags,
  UmfHandleId = 72, UmfBase, UmfPid, UmfBaseSize, UmfOffset, UmfInnerPid, UmfInnerSize,
  ZeFd = 80, ZePoolOffset, ZeMemoryType, ZePid, ZeHandleType, ZeMirror, ZeReserved, ZeCompressed,
  ZePidOrMemoryType,
  CudaOpaque = 96, CudaObservedPid, CudaObservedSize, CudaVmmSize, CudaVmmFd,
  TorchVersion = 104, TorchType,
}

export const FIELDS: i32 = 106;
export const FIELD_RECORD: u32 = 24;

let origin: u32 = 0;
let out: u32 = 0;
let left: u32 = 0;
let count: u32 = 0;
let index: u32 = 0;

/** Starts a description of the bytes at `bytes`, written to `to`. */
export function begin(bytes: u32, to: u32, capacity: u32): void {
  origin = bytes;
  out = to;
  left = capacity / FIELD_RECORD;
  count = 0;
  index = 0;
}

export function setIndex(value: u32): void {
  index = value;
}

/** How many fields there are; more than were written when the buffer was too small. */
export function end(): u32 {
  return count;
}

export function field(p: u32, length: u32, id: Field, kind: Value): void {
  count++;
  if (left == 0) return;
  left--;
  store<u32>(out, p - origin);
  store<u32>(out + 4, length);
  store<u16>(out + 8, <u16>id);
  store<u8>(out + 10, <u8>kind);
  store<u8>(out + 11, 0);
  store<u32>(out + 12, index);
  store<u64>(out + 16, kind == Value.Bytes || kind == Value.Uuid || kind == Value.Text ? 0 : integer(p, length, kind));
  out += FIELD_RECORD;
}

function integer(p: u32, length: u32, kind: Value): u64 {
  if (length == 1) return load<u8>(p);
  if (length == 2) return load<u16>(p);
  if (length == 4) return kind == Value.Signed ? <u64>(<i64>load<i32>(p)) : <u64>load<u32>(p);
  return load<u64>(p);
}
