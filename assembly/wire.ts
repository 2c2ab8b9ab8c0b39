// The envelope's numbers: offsets, codes and limits, as docs/wire-format.md has them. Little-endian throughout.

export const MAJOR: u8 = 0;
export const MINOR: u8 = 0;
export const MAGIC: u64 = 0x0000_4350_494d_5355; // "USMIPC", six bytes
export const MAX_ENVELOPE: u32 = 16384;
export const MAX_SIZE: u64 = 0x1f_ffff_ffff_ffff; // 2^53-1: exact in every language's number

export namespace Header {
  export const major: u32 = 6;
  export const minor: u32 = 7;
  export const headerLength: u32 = 8;
  export const flags: u32 = 10;
  export const totalLength: u32 = 12;
  export const kind: u32 = 16;
  export const backend: u32 = 17;
  export const layout: u32 = 18;
  export const sectionCount: u32 = 20;
  export const check: u32 = 22;
  export const reserved: u32 = 23;
  export const deviceUuid: u32 = 24;
  export const allocationSize: u32 = 40;
  export const offset: u32 = 48;
  export const nbytes: u32 = 56;
  export const allocationRandom: u32 = 64;
  export const allocationCounter: u32 = 72;
  export const pid: u32 = 80;
  export const keyId: u32 = 84;
  export const startTime: u32 = 88;
  export const pidNamespace: u32 = 96;
  export const bootId: u32 = 104;
  export const created: u32 = 120;
  export const expires: u32 = 128;
  export const nonce: u32 = 136;
  export const length: u32 = 152;
}

/** Bits of the header's flags. */
export namespace Flags {
  export const AUTHENTICATED: u32 = 1;
}

/** After the sections: the CRC32C of all before it, then in authenticated envelopes the tag of all before that. */
export const CHECKSUM: u32 = 4;
export const TAG: u32 = 32;

// @ts-ignore: decorator
@inline
export function isAuthenticated(p: u32): bool {
  return (load<u16>(p + Header.flags) & Flags.AUTHENTICATED) != 0;
}

/** Bytes after the sections. */
// @ts-ignore: decorator
@inline
export function trailerLength(p: u32): u32 {
  return isAuthenticated(p) ? CHECKSUM + TAG : CHECKSUM;
}

export const enum Kind { Memory = 1, PhysicalMemory = 2, Event = 3, RemoteMemory = 4 }
export const enum BackendCode { Host = 1, LevelZero = 2, Sycl = 3, Cuda = 4 }
export const enum Layout {
  Host = 1,
  SyclUmfLevelZeroV2 = 2,
  SyclUmfLevelZeroV1 = 3,
  LevelZeroClassic = 4,
  LevelZeroOpaque = 5,
  Cuda = 6,
  TorchCuda = 7,
  SyclUmfCuda = 8,
  CudaVmm = 9,
  CudaPool = 10,
  CudaEvent = 11,
}

/** u16 type, u8 flags, u8 check, u32 length; then the bytes, zero-padded to a multiple of 8. */
export namespace Section {
  export const type: u32 = 0;
  export const flags: u32 = 2;
  export const check: u32 = 3;
  export const length: u32 = 4;
  export const bytes: u32 = 8;
  export const CRITICAL: u32 = 1;
}

export const enum SectionType { Handle = 1, FurtherHandle = 2, Descriptors = 3, Array = 4, Name = 5 }

/** What a further handle is for; roles that are not here are not looked into. */
export const enum FurtherRole { Event = 1 }
/** Bytes of an event's handle. */
export const EVENT_HANDLE: u32 = 64;

/** u32 kind, u32 zero, u64 st_dev, u64 st_ino. */
export const DESCRIPTOR_ENTRY: u32 = 24;
export const MAX_DESCRIPTORS: u32 = 16;
export const enum DescriptorKind { Memfd = 1, DmaBuf = 2, Opaque = 3 }

// Check bytes: what says how the rest is to be read is refused by itself when it is damaged, not read as something else.

/** XOR of the section header's other seven bytes and 0x55. */
export function sectionCheck(section: u32): u32 {
  return fold(load<u64>(section) & 0xffff_ffff_00ff_ffff);
}

/** XOR of bytes 8 to 23 of the header but the check byte itself, and 0x55. */
export function headerCheck(p: u32): u32 {
  return fold(load<u64>(p + Header.headerLength) ^ (load<u64>(p + Header.kind) & 0xff00_ffff_ffff_ffff));
}

function fold(word: u64): u32 {
  let x = <u32>word ^ <u32>(word >> 32);
  x ^= x >> 16;
  return ((x ^ (x >> 8)) & 0xff) ^ 0x55;
}

// @ts-ignore: decorator
@inline
export function padded(length: u32): u32 {
  return (length + 7) & ~7;
}
