import assert from 'node:assert/strict'
import { addon } from '../../host/addon.ts'
import { counts, openDescriptors } from './counts.ts'

/** Runs something that must leave nothing behind: no descriptor, no mapping, no claim in either book. */
export function unchanged<T>(action: () => T): T {
  const before = { ...counts(), descriptors: openDescriptors() }
  const result = action()
  assert.deepEqual({ ...counts(), descriptors: openDescriptors() }, before)
  return result
}

/** Runs something that must be refused before anything is mapped, even for a moment. */
export function unmapped<T>(action: () => T): T {
  const before = addon().callCounts?.()
  const result = unchanged(action)
  assert.deepEqual(addon().callCounts?.(), before, 'nothing was mapped on the way')
  return result
}
