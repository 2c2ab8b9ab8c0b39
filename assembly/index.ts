// Every wasm export, nothing else: spans are checked here, so that no input can reach outside the I/O region.
// The ABI is docs/wasm-abi.md. Spans are (pointer, length) in bytes; verdicts are the codes of verdict.ts.
import { FIELDS, FIELD_RECORD, begin, end as endFields } from "./describe/field";
import { describeEnvelope } from "./describe/envelope";
import { fieldNameOf, valueNameOf } from "./describe/names";
import { checkArray } from "./array";
import { crc32c as crc, crc32cTables } from "./digest/crc32c";
import { hmacAbsorb, hmacBegin, hmacEnd } from "./digest/hmac";
import { DIGEST, shaAbsorb, shaBegin, shaEnd, shaWipe } from "./digest/sha256";
import { checkEnvelope } from "./envelope";
import { fail, failedAt } from "./fail";
import { IO, IO_SIZE, LEDGER, inIo, writeText } from "./io";
import { KEY_RECORD, wipeKeys } from "./keys";
import { checkHandle, describeHandle, layoutBackend } from "./layouts/layouts";
import * as books from "./ledger/ledger";
import { POLICY_KEYS, POLICY_KEY_COUNT, POLICY_SIZE, checkPolicy } from "./policy";
import * as sealing from "./seal";
import { VERDICTS, Verdict, verdictMessageOf, verdictNameOf } from "./verdict";
import { MAX_ENVELOPE, MAX_SIZE, Section, Header, padded, trailerLength } from "./wire";

const ABI_VERSION: u32 = 0;

if (<u32>memory.size() < LEDGER >> 16) memory.grow(<i32>((LEDGER >> 16) - <u32>memory.size()));
crc32cTables();

export function abiVersion(): u32 { return ABI_VERSION; }
export function ioAddress(): u32 { return IO; }
export function ioSize(): u32 { return IO_SIZE; }
export function maxEnvelope(): u32 { return MAX_ENVELOPE; }

// Verdicts and names.

export function verdictCount(): u32 { return <u32>VERDICTS; }
export function verdictName(code: u32, out: u32, capacity: u32): u32 {
  return writeText(verdictNameOf(<i32>code), out, capacity);
}
export function verdictMessage(code: u32, out: u32, capacity: u32): u32 {
  return writeText(verdictMessageOf(<i32>code), out, capacity);
}
export function fieldCount(): u32 { return <u32>FIELDS; }
export function fieldName(id: u32, out: u32, capacity: u32): u32 {
  return writeText(fieldNameOf(<i32>id), out, capacity);
}
export function valueName(field: u32, value: u32, out: u32, capacity: u32): u32 {
  return writeText(valueNameOf(<i32>field, <i32>value), out, capacity);
}
/** Address of the byte that the last refused rule is about. */
export function failureAddress(): u32 { return failedAt; }

// Validating.

/** policy 0: none. Its keys are wiped. */
export function validate(pointer: u32, length: u32, policy: u32): u32 {
  if (policy == 0) return inIo(pointer, length) ? checkEnvelope(pointer, length) : fail(Verdict.BadSpan, pointer);
  if (!inIo(policy, POLICY_SIZE)) return fail(Verdict.BadSpan, pointer);
  const keys = load<u32>(policy + POLICY_KEYS);
  const count = load<u32>(policy + POLICY_KEY_COUNT);
  const verdict = keysInIo(keys, count) ? underPolicy(pointer, length, policy, keys, count) : fail(Verdict.BadSpan, pointer);
  if (count != 0) wipeKeys(keys, count);
  return verdict;
}

function underPolicy(pointer: u32, length: u32, policy: u32, keys: u32, count: u32): Verdict {
  if (!inIo(pointer, length)) return fail(Verdict.BadSpan, pointer);
  const verdict = checkEnvelope(pointer, length);
  return verdict == Verdict.Ok ? checkPolicy(pointer, policy, keys, count) : verdict;
}

function keysInIo(keys: u32, count: u32): bool {
  return count == 0 || (count <= IO_SIZE / KEY_RECORD && inIo(keys, count * KEY_RECORD));
}

/** `list` holds `count` pairs (u32 pointer, u32 length); their verdicts go to `out`, one byte each. Returns bad-span or ok. */
export function validateBatch(list: u32, count: u32, policy: u32, out: u32): u32 {
  // Read once: what is written to `out` may lie over the policy.
  const known = policy == 0 || inIo(policy, POLICY_SIZE);
  const keys = policy != 0 && known ? load<u32>(policy + POLICY_KEYS) : 0;
  const keyCount = policy != 0 && known ? load<u32>(policy + POLICY_KEY_COUNT) : 0;
  // Verdicts over the keys would be wiped with them, to zero: ok.
  const apart = keyCount == 0 || (keysInIo(keys, keyCount) && (out + count <= keys || keys + keyCount * KEY_RECORD <= out));
  const fits = apart && count <= IO_SIZE / 8 && inIo(list, count * 8) && inIo(out, count);
  for (let i: u32 = 0; fits && i < count; i++) {
    const item = list + (i << 3);
    const pointer = load<u32>(item);
    const length = load<u32>(item + 4);
    let verdict = Verdict.BadSpan;
    if (!known) fail(verdict, pointer);
    else verdict = policy == 0 ? <Verdict>validate(pointer, length, 0) : underPolicy(pointer, length, policy, keys, keyCount);
    store<u8>(out + i, <u8>verdict);
  }
  if (keyCount != 0) wipeKeys(keys, keyCount);
  return fits ? Verdict.Ok : fail(Verdict.BadSpan, list);
}

/** A raw vendor handle whose layout is known. */
export function validateHandle(layout: i32, pointer: u32, length: u32): u32 {
  if (!inIo(pointer, length)) return fail(Verdict.BadSpan, pointer);
  if (layoutBackend(layout) == 0) return fail(Verdict.UnknownLayout, pointer);
  return checkHandle(layout, pointer, length, 0);
}

/** Array metadata as an array section has it, for a range of `nbytes`. */
export function validateArray(pointer: u32, length: u32, nbytes: f64): u32 {
  if (!inIo(pointer, length)) return fail(Verdict.BadSpan, pointer);
  if (!(nbytes >= 0) || nbytes > <f64>MAX_SIZE || floor(nbytes) != nbytes) return fail(Verdict.BadArray, pointer);
  return checkArray(pointer, length, <u64>nbytes);
}

// Reading.

/** The envelope's fields, FIELD_RECORD bytes each; the count, which may be more than fit, or minus bad-span. */
export function describe(pointer: u32, length: u32, out: u32, capacity: u32): i32 {
  if (!inIo(pointer, length) || !inIo(out, capacity)) return -<i32>Verdict.BadSpan;
  begin(pointer, out, capacity);
  if (length > 0) describeEnvelope(pointer, length);
  return <i32>endFields();
}

/** The same for a raw vendor handle; minus bad-handle-length where its length is not the layout's. */
export function describeVendor(layout: i32, pointer: u32, length: u32, out: u32, capacity: u32): i32 {
  if (!inIo(pointer, length) || !inIo(out, capacity)) return -<i32>Verdict.BadSpan;
  if (layoutBackend(layout) == 0) return -<i32>Verdict.UnknownLayout;
  begin(pointer, out, capacity);
  if (!describeHandle(layout, pointer, length)) return -<i32>Verdict.BadHandleLength;
  return <i32>endFields();
}

export function fieldRecordSize(): u32 { return FIELD_RECORD; }

/** Address of the first section of that type in a VALID envelope (its bytes begin 8 further), or 0. */
export function findSection(pointer: u32, length: u32, type: u32): u32 {
  if (!inIo(pointer, length) || length < Header.length || length - Header.length < trailerLength(pointer)) return 0;
  const end = pointer + length - trailerLength(pointer);
  let at = pointer + load<u16>(pointer + Header.headerLength);
  while (at < end && end - at >= Section.bytes) {
    const size = load<u32>(at + Section.length);
    if (size > end - at - Section.bytes) return 0;
    if (load<u16>(at) == type) return at;
    at += Section.bytes + padded(size);
  }
  return 0;
}

export function layoutBackendOf(layout: i32): i32 { return layoutBackend(layout); }

// Sealing.

export function sealBegin(pointer: u32, capacity: u32): u32 {
  return inIo(pointer, capacity) ? sealing.sealBegin(pointer, capacity) : Verdict.BadSpan;
}
export function sealSection(pointer: u32, capacity: u32, type: u32, flags: u32, bytes: u32, length: u32): u32 {
  if (!inIo(pointer, capacity) || capacity < Header.length || !inIo(bytes, length)) return Verdict.BadSpan;
  return sealing.sealSection(pointer, capacity, type, flags, bytes, length);
}
export function sealEnd(pointer: u32, capacity: u32): i32 {
  if (!sealable(pointer, capacity)) return -<i32>Verdict.BadSpan;
  return sealing.sealEnd(pointer, capacity, 0);
}
/** The envelope gets a tag. The key record at `key` is wiped. */
export function sealEndAuthenticated(pointer: u32, capacity: u32, key: u32): i32 {
  if (!inIo(key, KEY_RECORD)) return -<i32>Verdict.BadSpan;
  const result = sealable(pointer, capacity) ? sealing.sealEnd(pointer, capacity, key) : -<i32>Verdict.BadSpan;
  wipeKeys(key, 1);
  return result;
}
/** A valid envelope gets a tag, instead of the one that it may have. The key record at `key` is wiped. */
export function authenticate(pointer: u32, capacity: u32, key: u32): i32 {
  if (!inIo(key, KEY_RECORD)) return -<i32>Verdict.BadSpan;
  const result = sealable(pointer, capacity) ? sealing.authenticate(pointer, capacity, key) : -<i32>Verdict.BadSpan;
  wipeKeys(key, 1);
  return result;
}
function sealable(pointer: u32, capacity: u32): bool {
  return inIo(pointer, capacity) && capacity >= Header.length;
}
export function crc32c(pointer: u32, length: u32): u32 {
  return inIo(pointer, length) ? crc(pointer, length) : 0;
}
/** Writes the 32 bytes to `out`. */
export function sha256(pointer: u32, length: u32, out: u32): u32 {
  if (!inIo(pointer, length) || !inIo(out, DIGEST)) return Verdict.BadSpan;
  shaBegin();
  shaAbsorb(pointer, length);
  shaEnd(out);
  shaWipe();
  return Verdict.Ok;
}
/** The same, with a key of any length, which is wiped. */
export function hmacSha256(key: u32, keyLength: u32, pointer: u32, length: u32, out: u32): u32 {
  if (!inIo(key, keyLength)) return Verdict.BadSpan;
  const fits = inIo(pointer, length) && inIo(out, DIGEST);
  if (fits) {
    hmacBegin(key, keyLength);
    hmacAbsorb(pointer, length);
  }
  memory.fill(key, 0, keyLength);
  if (fits) hmacEnd(out);
  return fits ? Verdict.Ok : Verdict.BadSpan;
}

// The ledger.

/** `seed`: 16 random bytes. */
export function ledgerReset(seed: u32, maxRecords: u32): u32 {
  if (!inIo(seed, 16)) return Verdict.BadSpan;
  books.reset(load<u64>(seed), load<u64>(seed + 8), maxRecords);
  return Verdict.Ok;
}
export function ledgerNextId(out: u32): u32 {
  if (!inIo(out, 16)) return Verdict.BadSpan;
  books.nextId(out);
  return Verdict.Ok;
}
export function ledgerStatus(id: u32): u32 { return inIo(id, 16) ? books.status(id) : Verdict.BadSpan; }
export function ledgerToken(id: u32): f64 { return inIo(id, 16) ? books.tokenOf(id) : 0; }
export function ledgerAdd(kind: u32, id: u32, nbytes: f64, token: f64, now: f64): f64 {
  return inIo(id, 16) ? books.add(kind, id, nbytes, token, now) : -<f64>Verdict.BadSpan;
}
export function ledgerEnd(claim: f64): u32 { return books.end(claim); }
export function ledgerCount(kind: u32): u32 { return books.count(kind); }
export function ledgerList(from: u32, out: u32, capacity: u32): i32 {
  return inIo(out, capacity) ? <i32>books.list(from, out, capacity) : -<i32>Verdict.BadSpan;
}
export function ledgerRecordSize(): u32 { return books.recordSize(); }
