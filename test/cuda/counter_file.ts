/** PyTorch's ref-counter files, made as PyTorch makes them: a 64-byte head with the number of mappings, then 64-bit counters. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'

const HEAD = 64
const made: string[] = []

export const pathOf = (name: string): string => `/dev/shm${name}`

/** A name that nobody has, to be removed by `removeCounterFiles`. */
export function newName(): string {
  const name = `/torch_${process.pid}_${made.length}_0`
  made.push(name)
  return name
}

export function counterFile(...counters: bigint[]): string {
  const name = newName()
  setCounters(name, 1, ...counters)
  return name
}

/** Over the bytes of the same file, where there is one. */
export function setCounters(name: string, mappings: number, ...counters: bigint[]): void {
  const bytes = new DataView(new ArrayBuffer(HEAD + 8 * counters.length))
  bytes.setInt32(0, mappings, true)
  counters.forEach((count, i) => bytes.setBigInt64(HEAD + 8 * i, count, true))
  writeFileSync(pathOf(name), new Uint8Array(bytes.buffer))
}

export function counters(name: string): [mappings: number, ...counts: bigint[]] {
  const bytes = readFileSync(pathOf(name))
  return [bytes.readInt32LE(0), ...Array.from({ length: (bytes.length - HEAD) / 8 }, (_, i) => bytes.readBigInt64LE(HEAD + 8 * i))]
}

export function removeCounterFiles(): void {
  for (const name of made) rmSync(pathOf(name), { force: true, recursive: true })
}
