import assert from 'node:assert/strict'
import { counts, openDescriptors } from './counts.ts'

/** Runs something that must leave nothing behind: no descriptor, no mapping, no claim in either book. */
export function unchanged<T>(action: () => T): T {
  const before = { ...counts(), descriptors: openDescriptors() }
  const result = action()
  assert.deepEqual({ ...counts(), descriptors: openDescriptors() }, before)
  return result
}
