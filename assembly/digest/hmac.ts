// HMAC-SHA256 (RFC 2104, FIPS 198-1), streaming: begin with the key, absorb, end.
import { SHA_SCRATCH } from "../io";
import { DIGEST, SHA_SIZE, shaAbsorb, shaBegin, shaEnd, shaWipe } from "./sha256";

const PAD: u32 = SHA_SCRATCH + SHA_SIZE; // the key as one block, XORed with a pad
const INNER: u32 = PAD + 64;
const BLOCK_SIZE: u32 = 64;
const IPAD: u64 = 0x3636_3636_3636_3636;
const OPAD: u64 = 0x5c5c_5c5c_5c5c_5c5c;

export function hmacBegin(key: u32, keyLength: u32): void {
  memory.fill(PAD, 0, BLOCK_SIZE);
  if (keyLength > BLOCK_SIZE) {
    shaBegin();
    shaAbsorb(key, keyLength);
    shaEnd(PAD);
  } else {
    memory.copy(PAD, key, keyLength);
  }
  absorbPad(IPAD);
}

export function hmacAbsorb(p: u32, length: u32): void {
  shaAbsorb(p, length);
}

/** Writes the 32 bytes, and wipes everything that was made of the key. */
export function hmacEnd(out: u32): void {
  shaEnd(INNER);
  absorbPad(IPAD ^ OPAD); // the first pad is still on it
  shaAbsorb(INNER, DIGEST);
  shaEnd(out);
  shaWipe();
  memory.fill(PAD, 0, BLOCK_SIZE + DIGEST);
}

function absorbPad(pad: u64): void {
  for (let i: u32 = 0; i < BLOCK_SIZE; i += 8) store<u64>(PAD + i, load<u64>(PAD + i) ^ pad);
  shaBegin();
  shaAbsorb(PAD, BLOCK_SIZE);
}
