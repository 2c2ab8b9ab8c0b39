/** Where generated things take their choices from: a seeded generator for bulk work, fast-check where shrinking helps. */
import type { GeneratorValue } from 'fast-check'
import fc from 'fast-check'

export interface Source {
  /** An integer from `min` to `max`, both included, up to 2^53-1. */
  int(min: number, max: number): number
  u64(): bigint
  bytes(length: number): Uint8Array
}

/** SplitMix-seeded xorshift: fast, and the same numbers for the same seed everywhere. */
export class Random implements Source {
  #a: number
  #b: number
  #c = 0

  constructor(seed: number) {
    this.#a = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 0
    this.#b = Math.imul(seed ^ 0x7f4a7c15, 0xc2b2ae35) | 0
    for (let i = 0; i < 12; i++) this.u32()
  }

  u32(): number {
    const t = (this.#a + this.#b) | 0
    this.#c = (this.#c + 0x6d2b79f5) | 0
    this.#a = this.#b ^ (this.#b >>> 9) ^ this.#c
    this.#b = (Math.imul(t ^ (t >>> 15), 0x2c1b3c6d) ^ (t << 7)) | 0
    return (t ^ this.#a) >>> 0
  }

  /** An integer from 0 to `n` - 1; `n` below 2^32. */
  below(n: number): number {
    return Math.floor((this.u32() / 2 ** 32) * n)
  }

  int(min: number, max: number): number {
    const span = max - min
    if (span < 0xffff_ffff) return min + this.below(span + 1)
    const fraction = (this.u32() * 2 ** 21 + (this.u32() >>> 11)) / 2 ** 53
    return min + Math.floor(fraction * (span + 1))
  }

  u64(): bigint {
    return (BigInt(this.u32()) << 32n) | BigInt(this.u32())
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.u32() >>> 24)
  }
}

/** Choices that fast-check makes, records and shrinks. */
export function fromFastCheck(gen: GeneratorValue): Source {
  return {
    int: (min, max) => gen(fc.integer, { min, max }),
    u64: () => gen(fc.bigInt, { min: 0n, max: 2n ** 64n - 1n }),
    bytes: (length) => gen(fc.uint8Array, { minLength: length, maxLength: length }),
  }
}

export function chance(from: Source, percent: number): boolean {
  return from.int(1, 100) > 100 - percent
}

export function pick<T>(from: Source, list: readonly T[]): T {
  return list[from.int(0, list.length - 1)]!
}

/** An integer from `min` to `max` of any magnitude: a uniform one would nearly always be huge. */
export function anyMagnitude(from: Source, min: number, max: number): number {
  const bits = from.int(0, 53)
  return from.int(min, Math.max(min, Math.min(max, 2 ** bits - 1)))
}
