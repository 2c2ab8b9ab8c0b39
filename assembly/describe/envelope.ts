// Every byte of an envelope as fields. Made for looking at damaged ones too: it stops where the structure ends, and
// says of the rest that it is bytes.
import { layoutBackend, describeHandle } from "../layouts/layouts";
import { CHECKSUM, DESCRIPTOR_ENTRY, Header, Section, SectionType, TAG, padded, trailerLength } from "../wire";
import { Field, Value, field, setIndex } from "./field";

export function describeEnvelope(p: u32, length: u32): void {
  if (length < Header.length) return field(p, length, Field.SectionBytes, Value.Bytes);
  const trailer = trailerLength(p);
  describeHeader(p);
  const total = load<u32>(p + Header.totalLength);
  const end = total >= Header.length + trailer && total <= length ? total - trailer : length;
  const headerLength: u32 = load<u16>(p + Header.headerLength);
  let at = Header.length;
  if (headerLength > at && headerLength <= end) {
    field(p + at, headerLength - at, Field.HeaderExtension, Value.Bytes);
    at = headerLength;
  }
  for (let index: u32 = 0; end - at >= Section.bytes; index++) {
    const size = load<u32>(p + at + Section.length);
    const room = end - at - Section.bytes;
    if (size > room) break;
    setIndex(index);
    const whole = padded(size) <= room ? padded(size) : size;
    describeSection(p, p + at, size);
    if (whole > size) field(p + at + Section.bytes + size, whole - size, Field.Padding, Value.Bytes);
    at += Section.bytes + whole;
  }
  setIndex(0);
  if (at < end) field(p + at, end - at, Field.SectionBytes, Value.Bytes);
  if (end < length) {
    field(p + end, CHECKSUM, Field.Crc32c, Value.Unsigned);
    if (trailer > CHECKSUM) field(p + end + CHECKSUM, TAG, Field.Tag, Value.Bytes);
    const behind = end + trailer;
    if (behind < length) field(p + behind, length - behind, Field.SectionBytes, Value.Bytes);
  }
}

function describeHeader(p: u32): void {
  field(p, 6, Field.Magic, Value.Text);
  field(p + Header.major, 1, Field.Major, Value.Unsigned);
  field(p + Header.minor, 1, Field.Minor, Value.Unsigned);
  field(p + Header.headerLength, 2, Field.HeaderLength, Value.Unsigned);
  field(p + Header.flags, 2, Field.Flags, Value.Flags);
  field(p + Header.totalLength, 4, Field.TotalLength, Value.Unsigned);
  field(p + Header.kind, 1, Field.Kind, Value.Named);
  field(p + Header.backend, 1, Field.Backend, Value.Named);
  field(p + Header.layout, 2, Field.Layout, Value.Named);
  field(p + Header.sectionCount, 2, Field.SectionCount, Value.Unsigned);
  field(p + Header.check, 1, Field.HeaderCheck, Value.Unsigned);
  field(p + Header.reserved, 1, Field.Reserved, Value.Flags);
  field(p + Header.deviceUuid, 16, Field.DeviceUuid, Value.Uuid);
  field(p + Header.allocationSize, 8, Field.AllocationSize, Value.Unsigned);
  field(p + Header.offset, 8, Field.Offset, Value.Unsigned);
  field(p + Header.nbytes, 8, Field.Nbytes, Value.Unsigned);
  field(p + Header.allocationRandom, 8, Field.AllocationRandom, Value.Pointer);
  field(p + Header.allocationCounter, 8, Field.AllocationCounter, Value.Unsigned);
  field(p + Header.pid, 4, Field.Pid, Value.Unsigned);
  field(p + Header.keyId, 4, Field.KeyId, Value.Unsigned);
  field(p + Header.startTime, 8, Field.StartTime, Value.Unsigned);
  field(p + Header.pidNamespace, 8, Field.PidNamespace, Value.Unsigned);
  field(p + Header.bootId, 16, Field.BootId, Value.Uuid);
  field(p + Header.created, 8, Field.Created, Value.Time);
  field(p + Header.expires, 8, Field.Expires, Value.Time);
  field(p + Header.nonce, 16, Field.Nonce, Value.Bytes);
}

function describeSection(header: u32, at: u32, size: u32): void {
  const type: i32 = load<u16>(at);
  const bytes = at + Section.bytes;
  field(at, 2, Field.SectionType, Value.Named);
  field(at + Section.flags, 1, Field.SectionFlags, Value.Flags);
  field(at + Section.check, 1, Field.SectionCheck, Value.Unsigned);
  field(at + Section.length, 4, Field.SectionLength, Value.Unsigned);
  if (size == 0) return;
  const layout: i32 = load<u16>(header + Header.layout);
  if (type == SectionType.Handle && layoutBackend(layout) != 0 && describeHandle(layout, bytes, size)) return;
  if (type == SectionType.Descriptors && size % DESCRIPTOR_ENTRY == 0) return describeDescriptors(bytes, size);
  if (type == SectionType.Array && size >= 16 && <u64>size == 16 + 16 * <u64>load<u32>(bytes + 4)) return describeArray(bytes, (size - 16) / 16);
  if (type == SectionType.Name) return field(bytes, size, Field.Name, Value.Text);
  if (type == SectionType.FurtherHandle && size > 8) {
    field(bytes, 4, Field.FurtherRole, Value.Named);
    field(bytes + 4, 4, Field.FurtherReserved, Value.Bytes);
    return field(bytes + 8, size - 8, Field.FurtherBytes, Value.Bytes);
  }
  field(bytes, size, Field.SectionBytes, Value.Bytes);
}

function describeDescriptors(p: u32, size: u32): void {
  for (let i: u32 = 0; i < size; i += DESCRIPTOR_ENTRY) {
    setIndex(i / DESCRIPTOR_ENTRY);
    field(p + i, 4, Field.EntryKind, Value.Named);
    field(p + i + 4, 4, Field.EntryReserved, Value.Bytes);
    field(p + i + 8, 8, Field.EntryDevice, Value.Unsigned);
    field(p + i + 16, 8, Field.EntryInode, Value.Unsigned);
  }
}

// `ndim` is not read here: what is written out may lie over what is described.
function describeArray(p: u32, ndim: u32): void {
  field(p, 1, Field.ArrayDtypeCode, Value.Unsigned);
  field(p + 1, 1, Field.ArrayDtypeBits, Value.Unsigned);
  field(p + 2, 2, Field.ArrayDtypeLanes, Value.Unsigned);
  field(p + 4, 4, Field.ArrayNdim, Value.Unsigned);
  field(p + 8, 8, Field.ArrayReserved, Value.Bytes);
  for (let i: u32 = 0; i < ndim; i++) {
    setIndex(i);
    field(p + 16 + 16 * i, 8, Field.ArrayShape, Value.Signed);
    field(p + 24 + 16 * i, 8, Field.ArrayStride, Value.Signed);
  }
}
