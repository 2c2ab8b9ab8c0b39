/** Vendor handles that obey every rule of their layout and agree with a header. */
import type { LayoutName } from '../../../host/core/index.ts'
import { anyMagnitude, chance, pick, type Source } from './source.ts'

/** What a vendor handle repeats of the envelope around it. */
export interface Shared {
  pid: number
  allocationSize: number
  offset: number
  /** The memfd's identity (host). */
  stDev: bigint
  stIno: bigint
}

const I32 = 0x7fff_ffff

class Writer {
  readonly bytes: Uint8Array
  readonly #view: DataView
  #at = 0
  constructor(length: number) {
    this.bytes = new Uint8Array(length)
    this.#view = new DataView(this.bytes.buffer)
  }
  u8(value: number): this {
    this.#view.setUint8(this.#at++, value)
    return this
  }
  u32(value: number): this {
    this.#view.setUint32(this.#at, value, true)
    this.#at += 4
    return this
  }
  u64(value: number | bigint): this {
    this.#view.setBigUint64(this.#at, BigInt(value), true)
    this.#at += 8
    return this
  }
  raw(bytes: Uint8Array): this {
    this.bytes.set(bytes, this.#at)
    this.#at += bytes.length
    return this
  }
}

function host(from: Source, shared: Shared): Uint8Array {
  return new Writer(32).u64(shared.stDev).u64(shared.stIno).u64(shared.allocationSize).u32(from.int(0, I32)).u32(from.int(0, 1)).bytes
}

function umfHead(from: Source, w: Writer, shared: Shared): Writer {
  return w.u64(from.u64()).u64(from.u64()).u32(shared.pid).u32(0).u64(shared.allocationSize).u64(shared.offset)
}

function classic(from: Source, shared: Shared): Uint8Array {
  const poolOffset = anyMagnitude(from, 0, shared.allocationSize - 1)
  return new Writer(64).u32(from.int(0, I32)).u32(0).u64(poolOffset).u8(from.int(0, 15)).bytes
}

function opaque(from: Source, shared: Shared): Uint8Array {
  const fd = from.int(0, I32)
  const w = new Writer(64).u32(fd).u32(0).u64(anyMagnitude(from, 0, shared.allocationSize - 1)).u32(shared.pid)
  w.u8(from.int(0, 1)).u8(from.int(0, 15))
  const age = from.int(0, 2) // three ages of driver: nothing, reserved bytes, a mirror too
  if (age === 0) return w.bytes
  return w.u64(age === 2 ? fd : 0).raw(from.bytes(32)).u8(from.int(0, 1)).bytes
}

function vmm(from: Source, shared: Shared): Uint8Array {
  return new Writer(32).u64(anyMagnitude(from, shared.allocationSize, Number.MAX_SAFE_INTEGER)).u32(from.int(0, I32)).bytes
}

function inner(from: Source, shared: Shared): Uint8Array {
  return chance(from, 50) ? classic(from, shared) : opaque(from, shared)
}

export function vendorHandle(from: Source, layout: LayoutName, shared: Shared): Uint8Array {
  switch (layout) {
    case 'host':
      return host(from, shared)
    case 'sycl-umf-level-zero-v2':
      return umfHead(from, new Writer(120), shared).u32(shared.pid).u32(0).u64(shared.allocationSize).raw(inner(from, shared)).bytes
    case 'sycl-umf-level-zero-v1':
      return umfHead(from, new Writer(108), shared).u32(shared.pid).raw(inner(from, shared)).bytes
    case 'sycl-umf-cuda':
      return umfHead(from, new Writer(104), shared).raw(from.bytes(64)).bytes
    case 'level-zero-classic':
      return classic(from, shared)
    case 'level-zero-opaque':
      return opaque(from, shared)
    case 'cuda':
    case 'cuda-pool':
    case 'cuda-event':
      return from.bytes(64)
    case 'cuda-vmm':
      return vmm(from, shared)
    case 'torch-cuda':
      return new Writer(66).u8(2).u8(0x63).raw(from.bytes(64)).bytes
  }
}

/** A pid: small ones (containers), powers of two (one bit from another meaning), any. */
export function anyPid(from: Source): number {
  return pick(from, [() => from.int(1, 20), () => 2 ** from.int(0, 30), () => from.int(1, I32)])()
}
