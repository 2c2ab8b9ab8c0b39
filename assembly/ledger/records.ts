// The ledger's storage: records of 72 bytes in slots behind the I/O region, the only part of the memory that grows.
//
// A slot's record is free or live. Live records of one allocation form a ring; its first one, the leader, stands in
// the hash chain of the allocation's id. The chains' heads lie in the slots too (bucket i's head in slot i), which is
// linear hashing: each new slot brings one bucket and splits one, so no step ever rehashes everything.
import { LEDGER } from "../io";

export const RECORD: u32 = 72;
export const NONE: u32 = 0; // links hold slot + 1

export namespace R {
  export const idRandom: u32 = 0;
  export const idCounter: u32 = 8;
  export const token: u32 = 16; // f64
  export const nbytes: u32 = 24; // f64
  export const opened: u32 = 32; // f64
  export const generation: u32 = 40;
  export const ringNext: u32 = 44; // or the free list
  export const ringPrevious: u32 = 48;
  export const chainNext: u32 = 52; // leaders only
  export const chainPrevious: u32 = 56;
  export const bucket: u32 = 60; // bucket head; belongs to the slot, not to its record
  export const kind: u32 = 64; // u8; 0 is free
  export const leader: u32 = 65; // u8
}

let slots: u32 = 0;
let mask: u32 = 0; // buckets [0, mask] are split already; mask + 1 is a power of two
let freeHead: u32 = NONE;
let freeTail: u32 = NONE;
let seed: u64 = 0;

export function slotCount(): u32 {
  return slots;
}

// @ts-ignore: decorator
@inline
export function at(slot: u32): u32 {
  return LEDGER + slot * RECORD;
}

export function clear(newSeed: u64): void {
  memory.fill(LEDGER, 0, slots * RECORD);
  slots = 0;
  mask = 0;
  freeHead = NONE;
  freeTail = NONE;
  seed = newSeed;
}

/** A free slot, the longest unused one first; -1 when the memory cannot grow. */
export function take(): i32 {
  if (freeHead != NONE) {
    const slot = freeHead - 1;
    freeHead = load<u32>(at(slot) + R.ringNext);
    if (freeHead == NONE) freeTail = NONE;
    return <i32>slot;
  }
  if (!room(slots + 1)) return -1;
  const slot = slots++;
  memory.fill(at(slot), 0, RECORD);
  split(slot);
  return <i32>slot;
}

/** Gives the slot back. A slot whose generations are used up is never used again. */
export function give(slot: u32, lastGeneration: u32): void {
  const record = at(slot);
  store<u8>(record + R.kind, 0);
  const generation = load<u32>(record + R.generation);
  if (generation >= lastGeneration) return;
  store<u32>(record + R.ringNext, NONE);
  if (freeTail == NONE) freeHead = slot + 1;
  else store<u32>(at(freeTail - 1) + R.ringNext, slot + 1);
  freeTail = slot + 1;
}

/** The leader of the allocation's live records, or -1. */
export function find(random: u64, counter: u64): i32 {
  if (slots == 0) return -1;
  let link = load<u32>(at(bucketOf(random, counter)) + R.bucket);
  while (link != NONE) {
    const record = at(link - 1);
    if (load<u64>(record) == random && load<u64>(record + R.idCounter) == counter) return <i32>(link - 1);
    link = load<u32>(record + R.chainNext);
  }
  return -1;
}

/** Enters the record, whose id is set, into its allocation's ring, or makes it the leader of a new one. */
export function enter(slot: u32): void {
  const record = at(slot);
  const leader = find(load<u64>(record), load<u64>(record + R.idCounter));
  if (leader < 0) {
    store<u32>(record + R.ringNext, slot + 1);
    store<u32>(record + R.ringPrevious, slot + 1);
    chain(slot, bucketOf(load<u64>(record), load<u64>(record + R.idCounter)));
    return;
  }
  const first = at(<u32>leader);
  const next = load<u32>(first + R.ringNext);
  store<u32>(record + R.ringNext, next);
  store<u32>(record + R.ringPrevious, <u32>leader + 1);
  store<u32>(at(next - 1) + R.ringPrevious, slot + 1);
  store<u32>(first + R.ringNext, slot + 1);
  store<u8>(record + R.leader, 0);
}

/** Takes the record out of its ring; the next one of the ring takes over where it was the leader. */
export function leave(slot: u32): void {
  const record = at(slot);
  const next = load<u32>(record + R.ringNext);
  const previous = load<u32>(record + R.ringPrevious);
  if (load<u8>(record + R.leader)) {
    const bucket = bucketOf(load<u64>(record), load<u64>(record + R.idCounter));
    unchain(slot, bucket);
    if (next != slot + 1) chain(next - 1, bucket);
  }
  store<u32>(at(previous - 1) + R.ringNext, next);
  store<u32>(at(next - 1) + R.ringPrevious, previous);
}

function chain(slot: u32, bucket: u32): void {
  const record = at(slot);
  const head = at(bucket) + R.bucket;
  const next = load<u32>(head);
  store<u8>(record + R.leader, 1);
  store<u32>(record + R.chainNext, next);
  store<u32>(record + R.chainPrevious, NONE);
  if (next != NONE) store<u32>(at(next - 1) + R.chainPrevious, slot + 1);
  store<u32>(head, slot + 1);
}

function unchain(slot: u32, bucket: u32): void {
  const record = at(slot);
  const next = load<u32>(record + R.chainNext);
  const previous = load<u32>(record + R.chainPrevious);
  if (previous != NONE) store<u32>(at(previous - 1) + R.chainNext, next);
  else store<u32>(at(bucket) + R.bucket, next);
  if (next != NONE) store<u32>(at(next - 1) + R.chainPrevious, previous);
}

// Ids come from other processes, so the hash is keyed: nobody can aim for one bucket. (Two rounds of a 64-bit
// multiply-xorshift mix; it need not be more than hard to predict without the seed.)
function hash(random: u64, counter: u64): u32 {
  let x = random ^ seed;
  x = (x ^ (x >> 32)) * 0x9e37_79b9_7f4a_7c15;
  x ^= counter + rotl<u64>(seed, 23);
  x = (x ^ (x >> 29)) * 0xbf58_476d_1ce4_e5b9;
  return <u32>(x ^ (x >> 32));
}

function bucketOf(random: u64, counter: u64): u32 {
  const h = hash(random, counter);
  const wide = h & ((mask << 1) | 1);
  return wide < slots ? wide : h & mask;
}

// `added` is the new bucket: what belongs there comes from the bucket that it was split from.
function split(added: u32): void {
  if (added == 0) return;
  if (added > ((mask << 1) | 1)) mask = (mask << 1) | 1;
  const from = added & mask;
  let link = load<u32>(at(from) + R.bucket);
  while (link != NONE) {
    const record = at(link - 1);
    const next = load<u32>(record + R.chainNext);
    const to = bucketOf(load<u64>(record), load<u64>(record + R.idCounter));
    if (to != from) {
      unchain(link - 1, from);
      chain(link - 1, to);
    }
    link = next;
  }
}

function room(count: u32): bool {
  const needed = <u64>LEDGER + <u64>count * RECORD;
  const pages = <u32>memory.size();
  if (needed <= <u64>pages << 16) return true;
  // An eighth at a time: amortized O(1), and little of the memory lies idle.
  const used = pages - (LEDGER >> 16);
  return memory.grow(1 + (used >> 3)) >= 0 || memory.grow(1) >= 0;
}
