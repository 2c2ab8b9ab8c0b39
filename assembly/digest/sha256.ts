// SHA-256 (FIPS 180-4), streaming. A block is compressed in locals alone: the sixteen words of the message schedule are
// replaced in place, so that there is no schedule in memory to wipe. What is in memory lies in one scratch region.
import { SHA_SCRATCH } from "../io";

const STATE: u32 = SHA_SCRATCH; // 8 words
const BLOCK: u32 = SHA_SCRATCH + 32; // 64 bytes that wait to be compressed
export const SHA_SIZE: u32 = 32 + 64;
const BLOCK_SIZE: u32 = 64;
export const DIGEST: u32 = 32;

const K = memory.data<u32>([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
]);

let absorbed: u32 = 0; // bytes so far

export function shaBegin(): void {
  store<u64>(STATE, 0xbb67ae85_6a09e667, 0);
  store<u64>(STATE, 0xa54ff53a_3c6ef372, 8);
  store<u64>(STATE, 0x9b05688c_510e527f, 16);
  store<u64>(STATE, 0x5be0cd19_1f83d9ab, 24);
  absorbed = 0;
}

export function shaAbsorb(p: u32, length: u32): void {
  const waiting = absorbed & (BLOCK_SIZE - 1);
  absorbed += length;
  if (waiting != 0) {
    const taken = min(BLOCK_SIZE - waiting, length);
    memory.copy(BLOCK + waiting, p, taken);
    if (waiting + taken < BLOCK_SIZE) return;
    compress(BLOCK);
    p += taken;
    length -= taken;
  }
  for (; length >= BLOCK_SIZE; p += BLOCK_SIZE, length -= BLOCK_SIZE) compress(p);
  memory.copy(BLOCK, p, length);
}

/** Writes the digest. The scratch region still holds what led to it: shaWipe. */
export function shaEnd(out: u32): void {
  const waiting = absorbed & (BLOCK_SIZE - 1);
  store<u8>(BLOCK + waiting, 0x80);
  memory.fill(BLOCK + waiting + 1, 0, BLOCK_SIZE - 1 - waiting);
  if (waiting >= BLOCK_SIZE - 8) {
    compress(BLOCK);
    memory.fill(BLOCK, 0, BLOCK_SIZE);
  }
  store<u64>(BLOCK, bswap<u64>(<u64>absorbed << 3), 56);
  compress(BLOCK);
  for (let i: u32 = 0; i < DIGEST; i += 4) store<u32>(out + i, bswap<u32>(load<u32>(STATE + i)));
}

export function shaWipe(): void {
  memory.fill(SHA_SCRATCH, 0, SHA_SIZE);
  absorbed = 0;
}

// @ts-ignore: decorator
@inline
function word(p: u32, offset: usize): u32 { return bswap<u32>(load<u32>(p + <u32>offset)); }
// @ts-ignore: decorator
@inline
function S0(x: u32): u32 { return rotr<u32>(x, 2) ^ rotr<u32>(x, 13) ^ rotr<u32>(x, 22); }
// @ts-ignore: decorator
@inline
function S1(x: u32): u32 { return rotr<u32>(x, 6) ^ rotr<u32>(x, 11) ^ rotr<u32>(x, 25); }
// @ts-ignore: decorator
@inline
function s0(x: u32): u32 { return rotr<u32>(x, 7) ^ rotr<u32>(x, 18) ^ (x >> 3); }
// @ts-ignore: decorator
@inline
function s1(x: u32): u32 { return rotr<u32>(x, 17) ^ rotr<u32>(x, 19) ^ (x >> 10); }
// @ts-ignore: decorator
@inline
function ch(x: u32, y: u32, z: u32): u32 { return z ^ (x & (y ^ z)); }
// @ts-ignore: decorator
@inline
function maj(x: u32, y: u32, z: u32): u32 { return (x & y) | (z & (x | y)); }

// Sixteen rounds at a time. The eight variables do not move: each round reads and writes them one place further.
function compress(p: u32): void {
  let w0 = word(p, 0), w1 = word(p, 4), w2 = word(p, 8), w3 = word(p, 12);
  let w4 = word(p, 16), w5 = word(p, 20), w6 = word(p, 24), w7 = word(p, 28);
  let w8 = word(p, 32), w9 = word(p, 36), w10 = word(p, 40), w11 = word(p, 44);
  let w12 = word(p, 48), w13 = word(p, 52), w14 = word(p, 56), w15 = word(p, 60);
  let a = load<u32>(STATE, 0), b = load<u32>(STATE, 4), c = load<u32>(STATE, 8), d = load<u32>(STATE, 12);
  let e = load<u32>(STATE, 16), f = load<u32>(STATE, 20), g = load<u32>(STATE, 24), h = load<u32>(STATE, 28);
  for (let k: usize = K; ; k += 64) {
    h += S1(e) + ch(e, f, g) + load<u32>(k, 0) + w0; d += h; h += S0(a) + maj(a, b, c);
    g += S1(d) + ch(d, e, f) + load<u32>(k, 4) + w1; c += g; g += S0(h) + maj(h, a, b);
    f += S1(c) + ch(c, d, e) + load<u32>(k, 8) + w2; b += f; f += S0(g) + maj(g, h, a);
    e += S1(b) + ch(b, c, d) + load<u32>(k, 12) + w3; a += e; e += S0(f) + maj(f, g, h);
    d += S1(a) + ch(a, b, c) + load<u32>(k, 16) + w4; h += d; d += S0(e) + maj(e, f, g);
    c += S1(h) + ch(h, a, b) + load<u32>(k, 20) + w5; g += c; c += S0(d) + maj(d, e, f);
    b += S1(g) + ch(g, h, a) + load<u32>(k, 24) + w6; f += b; b += S0(c) + maj(c, d, e);
    a += S1(f) + ch(f, g, h) + load<u32>(k, 28) + w7; e += a; a += S0(b) + maj(b, c, d);
    h += S1(e) + ch(e, f, g) + load<u32>(k, 32) + w8; d += h; h += S0(a) + maj(a, b, c);
    g += S1(d) + ch(d, e, f) + load<u32>(k, 36) + w9; c += g; g += S0(h) + maj(h, a, b);
    f += S1(c) + ch(c, d, e) + load<u32>(k, 40) + w10; b += f; f += S0(g) + maj(g, h, a);
    e += S1(b) + ch(b, c, d) + load<u32>(k, 44) + w11; a += e; e += S0(f) + maj(f, g, h);
    d += S1(a) + ch(a, b, c) + load<u32>(k, 48) + w12; h += d; d += S0(e) + maj(e, f, g);
    c += S1(h) + ch(h, a, b) + load<u32>(k, 52) + w13; g += c; c += S0(d) + maj(d, e, f);
    b += S1(g) + ch(g, h, a) + load<u32>(k, 56) + w14; f += b; b += S0(c) + maj(c, d, e);
    a += S1(f) + ch(f, g, h) + load<u32>(k, 60) + w15; e += a; a += S0(b) + maj(b, c, d);
    if (k == K + 192) break;
    w0 += s0(w1) + w9 + s1(w14);
    w1 += s0(w2) + w10 + s1(w15);
    w2 += s0(w3) + w11 + s1(w0);
    w3 += s0(w4) + w12 + s1(w1);
    w4 += s0(w5) + w13 + s1(w2);
    w5 += s0(w6) + w14 + s1(w3);
    w6 += s0(w7) + w15 + s1(w4);
    w7 += s0(w8) + w0 + s1(w5);
    w8 += s0(w9) + w1 + s1(w6);
    w9 += s0(w10) + w2 + s1(w7);
    w10 += s0(w11) + w3 + s1(w8);
    w11 += s0(w12) + w4 + s1(w9);
    w12 += s0(w13) + w5 + s1(w10);
    w13 += s0(w14) + w6 + s1(w11);
    w14 += s0(w15) + w7 + s1(w12);
    w15 += s0(w0) + w8 + s1(w13);
  }
  store<u32>(STATE, load<u32>(STATE, 0) + a, 0);
  store<u32>(STATE, load<u32>(STATE, 4) + b, 4);
  store<u32>(STATE, load<u32>(STATE, 8) + c, 8);
  store<u32>(STATE, load<u32>(STATE, 12) + d, 12);
  store<u32>(STATE, load<u32>(STATE, 16) + e, 16);
  store<u32>(STATE, load<u32>(STATE, 20) + f, 20);
  store<u32>(STATE, load<u32>(STATE, 24) + g, 24);
  store<u32>(STATE, load<u32>(STATE, 28) + h, 28);
}
