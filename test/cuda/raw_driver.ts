/** Bare calls of the CUDA driver, as another library of this process would make them. Refusals are Errors with the result's name as `code`. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Pointers, pools and streams are the driver's own, as bigints; sizes in bytes; the first device. */
export interface RawDriver {
  alloc(nbytes: number): bigint
  free(pointer: bigint): void
  allocManaged(nbytes: number): bigint
  allocPinned(nbytes: number): bigint
  freePinned(pointer: bigint): void
  /** Of the default pool. */
  allocAsync(nbytes: number): bigint
  /** Of any pool. */
  freeAsync(pointer: bigint): void
  poolCreate(withFd: 0 | 1): bigint
  poolAlloc(pool: bigint, nbytes: number): bigint
  poolDestroy(pool: bigint): void
  vmmAlloc(nbytes: number, withFd: 0 | 1): bigint
  vmmFree(pointer: bigint, nbytes: number): void
  freeMemory(): number
  rangeBase(pointer: bigint): bigint
  resetPrimaryContext(): void
  retainPrimaryContext(): void
  synchronize(): void
  ipcGet(pointer: bigint): Uint8Array
  /** 0n where the driver refuses: `lastResult` then says with which number. */
  ipcOpen(handle: Uint8Array): bigint
  lastResult(): number
  /** The result's number. */
  ipcClose(pointer: bigint): number
  /** 1: one that does not go in turn with the default stream. */
  streamCreate(flags: 0 | 1): bigint
  streamDestroy(stream: bigint): void
  /** 0 done, 600 not. */
  streamQuery(stream: bigint): number
  /** Gives the stream something to do for so long. */
  sleepOn(stream: bigint, milliseconds: number): void
  write(pointer: bigint, bytes: Uint8Array): void
  read(pointer: bigint, target: Uint8Array): void
  fillAsync(pointer: bigint, byte: number, nbytes: number, stream: bigint): void
  /** Software driver: `cuMemMap:2` makes the second call fail from now on, `cuMemMap:1:2` the next with result 2. */
  fail(calls: string): void
  /** Software driver: how often the function was called. */
  calls(name: string): number
  /** Nanoseconds of each call. */
  timeGet(pointer: bigint, count: number): number[]
  /** Nanoseconds: `count` times of opening, then as many of closing. */
  timeOpenClose(handle: Uint8Array, count: number): number[]
  timeVmmOpenClose(fd: number, nbytes: number, count: number): number[]
  timePoolOpenClose(fd: number, pointerData: Uint8Array, count: number): number[]
  timeCopy(device: bigint, host: bigint, nbytes: number, toDevice: 0 | 1, count: number): number[]
  timePageableCopy(host: Uint8Array, device: bigint, toDevice: 0 | 1, count: number): number[]
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

let loaded: RawDriver | undefined

/** Compiles it at the first call. */
export function rawDriver(): RawDriver {
  if (loaded !== undefined) return loaded
  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-raw-cuda-'))
  try {
    const target = join(folder, 'raw_driver.node')
    execFileSync(process.env['CXX'] ?? 'g++', [
      '-std=c++17', '-O2', '-Wall', '-Wextra', '-Werror', '-Wno-cast-function-type', '-shared', '-fPIC', `-I${join(ROOT, 'native')}`, `-I${join(ROOT, 'node_modules/node-api-headers/include')}`,
      fileURLToPath(new URL('raw_driver.cc', import.meta.url)), '-ldl', '-o', target,
    ], { stdio: ['ignore', 'ignore', 'inherit'] })
    return (loaded = createRequire(import.meta.url)(target) as RawDriver)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
