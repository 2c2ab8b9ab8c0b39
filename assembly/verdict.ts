// Codes, names and messages: the one list that every language sees. Codes are stable within a major version of the
// envelope; names are for people and for comparing. A message says what is wrong and what to do about it.

export const enum Verdict {
  Ok = 0,
  // The outside of the bytes.
  Empty = 1,
  Truncated = 2,
  NotAnEnvelope = 3,
  UnsupportedVersion = 4,
  BadHeaderLength = 5,
  TooLong = 6,
  BadTotalLength = 7,
  TrailingBytes = 8,
  BadChecksum = 9,
  // The header.
  UnknownFlags = 10,
  ReservedNotZero = 11,
  UnknownKind = 12,
  UnknownBackend = 13,
  UnknownLayout = 14,
  LayoutMismatch = 15,
  ZeroNbytes = 16,
  SizeTooLarge = 17,
  RangeOverflow = 18,
  RangeOutsideAllocation = 19,
  BadAllocationId = 20,
  BadPid = 21,
  KeyWithoutAuthentication = 22,
  BadLifetime = 23,
  // Sections.
  SectionTruncated = 24,
  BadCheckByte = 25,
  SectionPadding = 26,
  SectionOrder = 27,
  SectionCount = 28,
  UnknownCriticalSection = 29,
  BadSectionFlags = 30,
  MissingHandle = 31,
  BadDescriptorEntry = 32,
  MissingDescriptorEntry = 33,
  BadArray = 34,
  BadName = 35,
  BadFurtherHandle = 36,
  // The vendor handle.
  BadHandleLength = 37,
  HandlePadding = 38,
  HandlePidsDiffer = 39,
  HandleBadPid = 40,
  HandleNegativeFd = 41,
  HandleZeroSize = 42,
  HandleSizesDiffer = 43,
  HandleOffsetOutside = 44,
  HandleUnknownType = 45,
  HandleUnknownVersion = 46,
  HandleMirrorDiffers = 47,
  HandleNoIdentity = 48,
  HandleDisagrees = 49,
  // The caller's policy.
  BadPolicy = 50,
  Expired = 51,
  NotYetValid = 52,
  WrongKind = 53,
  WrongBackend = 54,
  WrongDevice = 55,
  NbytesBeyondRange = 56,
  Unauthenticated = 57,
  // The call itself.
  BadSpan = 58,
  BufferTooSmall = 59,
  // The ledger.
  UnknownClaim = 60,
  DoubleClose = 61,
  LedgerFull = 62,
  StaleHandle = 63,
  NeverIssued = 64,
  BadRecord = 65,
  // Authentication.
  UnknownKey = 66,
  BadTag = 67,
  AuthenticationWithoutKey = 68,
  BadKey = 69,
}

export const VERDICTS: i32 = 70;

export function verdictNameOf(code: i32): string {
  switch (code) {
    case Verdict.Ok: return "ok";
    case Verdict.Empty: return "empty";
    case Verdict.Truncated: return "truncated";
    case Verdict.NotAnEnvelope: return "not-an-envelope";
    case Verdict.UnsupportedVersion: return "unsupported-version";
    case Verdict.BadHeaderLength: return "bad-header-length";
    case Verdict.TooLong: return "too-long";
    case Verdict.BadTotalLength: return "bad-total-length";
    case Verdict.TrailingBytes: return "trailing-bytes";
    case Verdict.BadChecksum: return "bad-checksum";
    case Verdict.UnknownFlags: return "unknown-flags";
    case Verdict.ReservedNotZero: return "reserved-not-zero";
    case Verdict.UnknownKind: return "unknown-kind";
    case Verdict.UnknownBackend: return "unknown-backend";
    case Verdict.UnknownLayout: return "unknown-layout";
    case Verdict.LayoutMismatch: return "layout-mismatch";
    case Verdict.ZeroNbytes: return "zero-nbytes";
    case Verdict.SizeTooLarge: return "size-too-large";
    case Verdict.RangeOverflow: return "range-overflow";
    case Verdict.RangeOutsideAllocation: return "range-outside-allocation";
    case Verdict.BadAllocationId: return "bad-allocation-id";
    case Verdict.BadPid: return "bad-pid";
    case Verdict.KeyWithoutAuthentication: return "key-without-authentication";
    case Verdict.BadLifetime: return "bad-lifetime";
    case Verdict.SectionTruncated: return "section-truncated";
    case Verdict.BadCheckByte: return "bad-check-byte";
    case Verdict.SectionPadding: return "section-padding";
    case Verdict.SectionOrder: return "section-order";
    case Verdict.SectionCount: return "section-count";
    case Verdict.UnknownCriticalSection: return "unknown-critical-section";
    case Verdict.BadSectionFlags: return "bad-section-flags";
    case Verdict.MissingHandle: return "missing-handle";
    case Verdict.BadDescriptorEntry: return "bad-descriptor-entry";
    case Verdict.MissingDescriptorEntry: return "missing-descriptor-entry";
    case Verdict.BadArray: return "bad-array";
    case Verdict.BadName: return "bad-name";
    case Verdict.BadFurtherHandle: return "bad-further-handle";
    case Verdict.BadHandleLength: return "bad-handle-length";
    case Verdict.HandlePadding: return "handle-padding";
    case Verdict.HandlePidsDiffer: return "handle-pids-differ";
    case Verdict.HandleBadPid: return "handle-bad-pid";
    case Verdict.HandleNegativeFd: return "handle-negative-fd";
    case Verdict.HandleZeroSize: return "handle-zero-size";
    case Verdict.HandleSizesDiffer: return "handle-sizes-differ";
    case Verdict.HandleOffsetOutside: return "handle-offset-outside";
    case Verdict.HandleUnknownType: return "handle-unknown-type";
    case Verdict.HandleUnknownVersion: return "handle-unknown-version";
    case Verdict.HandleMirrorDiffers: return "handle-mirror-differs";
    case Verdict.HandleNoIdentity: return "handle-no-identity";
    case Verdict.HandleDisagrees: return "handle-disagrees";
    case Verdict.BadPolicy: return "bad-policy";
    case Verdict.Expired: return "expired";
    case Verdict.NotYetValid: return "not-yet-valid";
    case Verdict.WrongKind: return "wrong-kind";
    case Verdict.WrongBackend: return "wrong-backend";
    case Verdict.WrongDevice: return "wrong-device";
    case Verdict.NbytesBeyondRange: return "nbytes-beyond-range";
    case Verdict.Unauthenticated: return "unauthenticated";
    case Verdict.BadSpan: return "bad-span";
    case Verdict.BufferTooSmall: return "buffer-too-small";
    case Verdict.UnknownClaim: return "unknown-claim";
    case Verdict.DoubleClose: return "double-close";
    case Verdict.LedgerFull: return "ledger-full";
    case Verdict.StaleHandle: return "stale-handle";
    case Verdict.NeverIssued: return "never-issued";
    case Verdict.BadRecord: return "bad-record";
    case Verdict.UnknownKey: return "unknown-key";
    case Verdict.BadTag: return "bad-tag";
    case Verdict.AuthenticationWithoutKey: return "authentication-without-key";
    case Verdict.BadKey: return "bad-key";
    default: return "";
  }
}

export function verdictMessageOf(code: i32): string {
  switch (code) {
    case Verdict.Ok: return "every rule holds";
    case Verdict.Empty: return "there are no bytes: pass what the exporter made";
    case Verdict.Truncated: return "the bytes end before the envelope does: send all of them";
    case Verdict.NotAnEnvelope: return "these are not envelope bytes (a raw vendor handle needs its layout named)";
    case Verdict.UnsupportedVersion: return "the envelope is of another major version: update the older of the two sides";
    case Verdict.BadHeaderLength: return "the header length is not one that this version can have";
    case Verdict.TooLong: return "the envelope says that it is longer than 16384 bytes";
    case Verdict.BadTotalLength: return "the total length is too short for the header, or leaves the sections unaligned";
    case Verdict.TrailingBytes: return "bytes follow the envelope: pass exactly what the exporter made";
    case Verdict.BadChecksum: return "the CRC32C does not match: the bytes were damaged on the way";
    case Verdict.UnknownFlags: return "a flag is set that this version does not know";
    case Verdict.ReservedNotZero: return "reserved bits are not zero";
    case Verdict.UnknownKind: return "the kind of what is shared is unknown";
    case Verdict.UnknownBackend: return "the backend is unknown";
    case Verdict.UnknownLayout: return "the vendor layout is unknown";
    case Verdict.LayoutMismatch: return "the vendor layout is not one of that backend and kind";
    case Verdict.ZeroNbytes: return "the shared range is empty: nbytes must be greater than 0";
    case Verdict.SizeTooLarge: return "a size or offset is above 2^53-1";
    case Verdict.RangeOverflow: return "offset + nbytes overflows";
    case Verdict.RangeOutsideAllocation: return "the shared range does not lie inside the allocation";
    case Verdict.BadAllocationId: return "the allocation id has a part that is zero";
    case Verdict.BadPid: return "the exporter's pid is not a positive 32-bit number";
    case Verdict.KeyWithoutAuthentication: return "a key id is given but the envelope is not authenticated";
    case Verdict.BadLifetime: return "the expiry lies before the creation time, or a time is above 2^53-1";
    case Verdict.SectionTruncated: return "a section reaches beyond the envelope";
    case Verdict.BadCheckByte: return "the check byte of the header or of a section header does not match";
    case Verdict.SectionPadding: return "the padding after a section is not zero";
    case Verdict.SectionOrder: return "sections are not in ascending order of type, or one stands twice";
    case Verdict.SectionCount: return "the number of sections is not what the header says";
    case Verdict.UnknownCriticalSection: return "a section that must be understood is of an unknown type: update this side";
    case Verdict.BadSectionFlags: return "a section's flags are not those of its type";
    case Verdict.MissingHandle: return "there is no vendor handle in the envelope";
    case Verdict.BadDescriptorEntry: return "an entry for a wanted descriptor is malformed";
    case Verdict.MissingDescriptorEntry: return "the layout needs exactly one wanted descriptor, of its kind";
    case Verdict.BadArray: return "the array metadata is malformed or reaches beyond the shared range";
    case Verdict.BadName: return "the name is not 1 to 255 bytes of printable UTF-8";
    case Verdict.BadFurtherHandle: return "a further handle has no role or no bytes, is an event of other than 64 bytes, or a second event";
    case Verdict.BadHandleLength: return "the vendor handle's length is not its layout's";
    case Verdict.HandlePadding: return "bytes of the vendor handle that its layout leaves zero are not zero";
    case Verdict.HandlePidsDiffer: return "the two pids in the vendor handle differ";
    case Verdict.HandleBadPid: return "the pid in the vendor handle is not positive";
    case Verdict.HandleNegativeFd: return "the descriptor number in the vendor handle is negative";
    case Verdict.HandleZeroSize: return "the vendor handle says that the allocation is empty";
    case Verdict.HandleSizesDiffer: return "the two sizes in the vendor handle differ";
    case Verdict.HandleOffsetOutside: return "the offset in the vendor handle lies outside the allocation";
    case Verdict.HandleUnknownType: return "a type byte in the vendor handle has an unknown value";
    case Verdict.HandleUnknownVersion: return "the version byte in the vendor handle is unknown";
    case Verdict.HandleMirrorDiffers: return "the vendor handle's mirror of its descriptor differs from it";
    case Verdict.HandleNoIdentity: return "the vendor handle's file identity is zero";
    case Verdict.HandleDisagrees: return "the vendor handle and the envelope around it disagree";
    case Verdict.BadPolicy: return "the policy block has unknown flags, reserved bits set, or keys that are malformed or of one id";
    case Verdict.Expired: return "the envelope has expired: ask the exporter for a new one";
    case Verdict.NotYetValid: return "the envelope was created in the future: compare the clocks";
    case Verdict.WrongKind: return "the envelope is of another kind than the one expected";
    case Verdict.WrongBackend: return "the envelope is of another backend: open it with a device of that backend";
    case Verdict.WrongDevice: return "the envelope is for another device (matched by UUID): select that device";
    case Verdict.NbytesBeyondRange: return "nbytes is 0 or more than the envelope shares: it may narrow the range, never widen it";
    case Verdict.Unauthenticated: return "the envelope is not authenticated but the policy requires it, or has keys";
    case Verdict.BadSpan: return "a pointer or length given to the core lies outside its I/O region";
    case Verdict.BufferTooSmall: return "the output buffer is too small";
    case Verdict.UnknownClaim: return "no such claim was ever entered";
    case Verdict.DoubleClose: return "the claim was ended before";
    case Verdict.LedgerFull: return "the ledger holds as many records as it may: close some";
    case Verdict.StaleHandle: return "the allocation that the handle names has been freed";
    case Verdict.NeverIssued: return "the allocation id is from this process but was never issued: the handle is forged";
    case Verdict.BadRecord: return "a ledger record's kind, size or allocation id is not valid";
    case Verdict.UnknownKey: return "the envelope is authenticated with a key whose id is not among those given";
    case Verdict.BadTag: return "the tag does not match: the envelope was changed, or made with another key of that id";
    case Verdict.AuthenticationWithoutKey: return "the envelope says that it is authenticated but names no key";
    case Verdict.BadKey: return "the key's id is 0, its length is not 16 to 64 bytes, or bytes follow it";
    default: return "";
  }
}
