/** The addon as it is, without the host layer: a wasm memory as the core, and the books and files of this process. */
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { ExecutionContext } from 'ava'
import { addon } from '../../host/addon.ts'

export const native = addon()

export const KINDS = { allocation: 1, exported: 2, mapping: 3, view: 4, descriptor: 5, lease: 6 } as const
export const USM = { device: 1, host: 2, shared: 3 } as const
export const PATHS = { none: 0, mapped: 1, cached: 2, self: 3 } as const

const memory = new WebAssembly.Memory({ initial: 1 })
export const core = new Uint8Array(memory.buffer)
const AT = { id: 0, handle: 64, entries: 8192 }

let ids = 0n

/** Never zero, never twice. */
export function newId(): bigint {
  return (++ids << 64n) | 0x5eedn
}

function writeId(id: bigint): number {
  const view = new DataView(core.buffer)
  view.setBigUint64(AT.id, id & 0xffff_ffff_ffff_ffffn, true)
  view.setBigUint64(AT.id + 8, id >> 64n, true)
  return AT.id
}

/** What keeps the holders of a test's claims alive. */
const holders: object[] = []
export function holder(): object {
  const held = {}
  holders.push(held)
  return held
}

export interface Options {
  id?: bigint
  usm?: number
  readOnly?: boolean
  holder?: object
}

export function allocate(nbytes: number, options: Options = {}): number {
  const { id = newId(), usm = USM.device, readOnly = false } = options
  return native.allocate(0, 0, usm, nbytes, readOnly, core, writeId(id), options.holder ?? holder(), 0)
}

/** The vendor handle. */
export function get(claim: number): Uint8Array {
  const length = native.get(claim, 0, core, AT.handle, 4096, AT.entries, 1024, false)
  return core.slice(AT.handle, AT.handle + length)
}

export function entries(): Uint8Array {
  const count = new DataView(core.buffer).getUint32(AT.entries, true)
  return core.slice(AT.entries, AT.entries + 8 + 24 * count)
}

export interface OpenOptions {
  /** None where it is left out, as openVendor has it. */
  id?: bigint
  descriptor?: number
  holder?: object
}

export function open(handle: Uint8Array, allocationNbytes: number, options: OpenOptions = {}): number {
  core.set(handle, AT.handle)
  const idAt = options.id === undefined ? -1 : writeId(options.id)
  return native.open(
    0, 0, 1, core, AT.handle, handle.length, idAt, allocationNbytes, -1, options.descriptor ?? 0, options.holder ?? holder(),
  )
}

export interface HandleFields {
  device: bigint
  inode: bigint
  nbytes: bigint
  descriptor: number
  flags: number
}

export function parse(handle: Uint8Array): HandleFields {
  const view = new DataView(handle.buffer, handle.byteOffset, handle.byteLength)
  return {
    device: view.getBigUint64(0, true),
    inode: view.getBigUint64(8, true),
    nbytes: view.getBigUint64(16, true),
    descriptor: view.getInt32(24, true),
    flags: view.getUint32(28, true),
  }
}

/** The handle with some fields changed. */
export function forge(handle: Uint8Array, fields: Partial<HandleFields>): Uint8Array {
  const all = { ...parse(handle), ...fields }
  const forged = new Uint8Array(32)
  const view = new DataView(forged.buffer)
  view.setBigUint64(0, all.device, true)
  view.setBigUint64(8, all.inode, true)
  view.setBigUint64(16, all.nbytes, true)
  view.setInt32(24, all.descriptor, true)
  view.setUint32(28, all.flags, true)
  return forged
}

/** Reads without asking the registry for more than the bytes. */
export function read(claim: number, offset: number, nbytes: number): number[] {
  const target = new Uint8Array(nbytes)
  native.read(claim, offset, target)
  return [...target]
}

export interface NativeError extends Error {
  kind: string
  reason: string
  call: string
  result: string
}

/** Runs what must throw a failure of the addon, and checks its kind and reason. */
export function refused(t: ExecutionContext, kind: string, reason: string, run: () => unknown): NativeError {
  const error = t.throws(run, { any: true }) as NativeError
  t.deepEqual([error?.kind, error?.reason], [kind, reason], error?.message)
  return error
}

/** Our memory files and pidfds: open descriptors and mapped regions. Other files come and go with the runtime. */
export function usage(): { descriptors: number; mappings: number } {
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return {
    descriptors: targets.filter((target) => target.startsWith('/memfd:usm-ipc') || target === 'anon_inode:[pidfd]').length,
    mappings: mappingLines().length,
  }
}

export function mappingLines(): string[] {
  return readFileSync('/proc/self/maps', 'utf8').split('\n').filter((line) => line.includes('/memfd:usm-ipc'))
}

/** Nothing of ours may be left. */
export function assertEmpty(t: ExecutionContext, message = 'nothing is left'): void {
  t.deepEqual(native.book().resources, [], message)
  t.is(native.book().claims, 0, message)
  t.deepEqual(usage(), { descriptors: 0, mappings: 0 }, message)
}

/** The reason of the failure that `run` throws; undefined when it throws none. */
export function reasonOf(run: () => unknown): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    return (error as NativeError).reason
  }
}

/** Forces collections; finalizers take a turn of the event loop or two. */
export async function collect(times: number): Promise<void> {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  for (let i = 0; i < times; i++) {
    gc()
    await sleep(2)
  }
}

/** Collects until `done` says so, or gives up. */
export async function collectUntil(done: () => boolean): Promise<boolean> {
  for (let i = 0; i < 400 && !done(); i++) await collect(1)
  return done()
}
