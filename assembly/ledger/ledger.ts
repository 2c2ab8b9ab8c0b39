// The books of one environment: who holds what, by allocation id. A claim is a number that is never used twice
// (generation * 2^24 + slot, below 2^53), so a claim ended twice, or one that never was, is told by itself.
//
// The ledger issues the allocation ids of this environment's own allocations: a random part that is the same for all
// and a counter. So it knows of every id of its own whether it is live, was freed, or was never issued, without
// keeping anything about the freed ones.
import { Verdict } from "../verdict";
import { MAX_SIZE } from "../wire";
import { R, RECORD, at, clear, enter, find, give, leave, slotCount, take } from "./records";

const SLOT_BITS: u32 = 24;
const MAX_SLOTS: u32 = 1 << SLOT_BITS;
const LAST_GENERATION: u32 = (1 << 29) - 1;
const KINDS: u32 = 8;
/** Bytes of one record of ledgerList: f64 claim, f64 token, f64 nbytes, f64 opened, u64 and u64 id, u32 kind, u32 slot. */
export const LISTED: u32 = 56;

let random: u64 = 0;
let issued: u64 = 0;
let limit: u32 = MAX_SLOTS;
let live: u32 = 0;
const counts = new StaticArray<u32>(<i32>KINDS);

/** Empties the books. 16 random bytes: the id's random part and the hash key. `maxRecords` 0: as many as there are slots. */
export function reset(idRandom: u64, hashSeed: u64, maxRecords: u32): void {
  clear(hashSeed);
  random = idRandom == 0 ? 1 : idRandom;
  issued = 0;
  live = 0;
  limit = maxRecords == 0 || maxRecords > MAX_SLOTS ? MAX_SLOTS : maxRecords;
  for (let i = 0; i < <i32>KINDS; i++) unchecked((counts[i] = 0));
}

/** Writes the next allocation id. */
export function nextId(out: u32): void {
  issued++;
  store<u64>(out, random);
  store<u64>(out + 8, issued);
}

/** ok: live here. stale-handle: of this ledger, freed. never-issued: of this ledger, forged. unknown-claim: another's. */
export function status(id: u32): Verdict {
  const idRandom = load<u64>(id);
  const idCounter = load<u64>(id + 8);
  if (find(idRandom, idCounter) >= 0) return Verdict.Ok;
  if (idRandom != random) return Verdict.UnknownClaim;
  return idCounter - 1 < issued ? Verdict.StaleHandle : Verdict.NeverIssued;
}

/** The token of a live record of the allocation, or 0. */
export function tokenOf(id: u32): f64 {
  const slot = find(load<u64>(id), load<u64>(id + 8));
  return slot < 0 ? 0 : load<f64>(at(<u32>slot) + R.token);
}

/** A new claim, or minus the verdict. */
export function add(kind: u32, id: u32, nbytes: f64, token: f64, now: f64): f64 {
  if (kind == 0 || kind >= KINDS || !(nbytes >= 0) || nbytes > <f64>MAX_SIZE || floor(nbytes) != nbytes) return -<f64>Verdict.BadRecord;
  if (load<u64>(id) == 0 || load<u64>(id + 8) == 0) return -<f64>Verdict.BadRecord;
  if (live >= limit) return -<f64>Verdict.LedgerFull;
  const slot = take();
  if (slot < 0) return -<f64>Verdict.LedgerFull;
  const record = at(<u32>slot);
  const generation = load<u32>(record + R.generation) + 1;
  store<u64>(record, load<u64>(id));
  store<u64>(record + R.idCounter, load<u64>(id + 8));
  store<f64>(record + R.token, token);
  store<f64>(record + R.nbytes, nbytes);
  store<f64>(record + R.opened, now);
  store<u32>(record + R.generation, generation);
  store<u8>(record + R.kind, <u8>kind);
  enter(<u32>slot);
  live++;
  unchecked(counts[kind]++);
  return <f64>generation * <f64>MAX_SLOTS + <f64>slot;
}

export function end(claim: f64): Verdict {
  if (!(claim >= <f64>MAX_SLOTS) || claim > <f64>MAX_SIZE || floor(claim) != claim) return Verdict.UnknownClaim;
  const number = <u64>claim;
  const slot = <u32>(number & (MAX_SLOTS - 1));
  const generation = <u32>(number >> SLOT_BITS);
  if (slot >= slotCount()) return Verdict.UnknownClaim;
  const record = at(slot);
  const current = load<u32>(record + R.generation);
  if (generation > current) return Verdict.UnknownClaim;
  const kind: u32 = load<u8>(record + R.kind);
  if (generation < current || kind == 0) return Verdict.DoubleClose;
  leave(slot);
  give(slot, LAST_GENERATION);
  live--;
  unchecked(counts[kind]--);
  return Verdict.Ok;
}

/** Live records of a kind; of all kinds for 0. */
export function count(kind: u32): u32 {
  return kind == 0 ? live : kind < KINDS ? unchecked(counts[kind]) : 0;
}

/** Writes live records from slot `from` on; returns how many. Go on at the last one's slot + 1 until there are none. */
export function list(from: u32, out: u32, capacity: u32): u32 {
  const most = capacity / LISTED;
  let written: u32 = 0;
  for (let slot = from; slot < slotCount() && written < most; slot++) {
    const record = at(slot);
    const kind: u32 = load<u8>(record + R.kind);
    if (kind == 0) continue;
    store<f64>(out, <f64>load<u32>(record + R.generation) * <f64>MAX_SLOTS + <f64>slot);
    store<f64>(out + 8, load<f64>(record + R.token));
    store<f64>(out + 16, load<f64>(record + R.nbytes));
    store<f64>(out + 24, load<f64>(record + R.opened));
    store<u64>(out + 32, load<u64>(record));
    store<u64>(out + 40, load<u64>(record + R.idCounter));
    store<u32>(out + 48, kind);
    store<u32>(out + 52, slot);
    out += LISTED;
    written++;
  }
  return written;
}

export function recordSize(): u32 {
  return RECORD;
}
