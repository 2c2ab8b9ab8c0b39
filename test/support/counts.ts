/** What this process holds, as the kernel and both books count it. */
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { ledger } from '../../host/index.ts'
import { onGpu } from './ipc.ts'

/** Of our own memory files: descriptors of them that are open, and mappings of them. */
export interface KernelCounts {
  memfds: number
  mappings: number
}

export interface Counts extends KernelCounts {
  live: number
  claims: number
  resources: number
}

const NAME = 'memfd:usm-ipc'

/** False under Deno with less than all permissions: then only the books are counted. */
export const kernelIsVisible: boolean = (() => {
  try {
    return readdirSync('/proc/self/fd').length > 0
  } catch (error) {
    if ((error as Error).name !== 'NotCapable') throw error
    return false
  }
})()

/** Descriptors of any kind that are open; without those that NVIDIA's driver opens and closes for itself. */
export function openDescriptors(): number {
  if (!kernelIsVisible) return 0
  const all = readdirSync('/proc/self/fd')
  return onGpu ? all.filter((fd) => !isTheDrivers(fd)).length : all.length
}

/** The same once it does not change any more: what runs TypeScript writes its cache without waiting. */
export async function settledDescriptors(): Promise<number> {
  for (let last = openDescriptors(); ;) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    const next = openDescriptors()
    if (next === last) return next
    last = next
  }
}

function isTheDrivers(fd: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).startsWith('/dev/nvidia')
  } catch {
    return false
  }
}

export function kernelCounts(): KernelCounts {
  if (!kernelIsVisible) return { memfds: 0, mappings: 0 }
  let memfds = 0
  for (const fd of readdirSync('/proc/self/fd')) {
    try {
      if (readlinkSync(`/proc/self/fd/${fd}`).includes(NAME)) memfds++
    } catch {
      // The descriptor of the listing itself
    }
  }
  const mappings = readFileSync('/proc/self/maps', 'latin1').split('\n').filter((line) => line.includes(NAME)).length
  return { memfds, mappings }
}

export function counts(): Counts {
  const book = ledger({ process: true })
  return { ...kernelCounts(), live: ledger().live, claims: book.claims, resources: book.resources.length }
}
