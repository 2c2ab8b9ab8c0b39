import type { System } from './system.ts'

/** A line of /proc/self/status, its name left out. */
export function statusField(system: System, name: string): string | undefined {
  return new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(system.read('/proc/self/status') ?? '')?.[1]?.trim()
}
