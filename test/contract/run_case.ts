import assert from 'node:assert/strict'
import { counts, type Counts } from '../support/counts.ts'
import { collectUntil } from '../support/gc.ts'
import type { BackendUnderTest, ContractCase } from './types.ts'

/** Runs a case and then asks whether anything is left: claims in the books, memory files, mappings. */
export async function runCase(contractCase: ContractCase, backend: BackendUnderTest): Promise<void> {
  const { keepsMappings = 0 } = backend
  const held = (): Counts => (keepsMappings === 0 ? counts() : { ...counts(), mappings: 0 })
  const before = held()
  await contractCase.run(backend)
  const closed = (): boolean => JSON.stringify(held()) === JSON.stringify(before)
  if (contractCase.collects) await collectUntil(closed)
  assert.deepEqual(held(), before, 'the case left something open')
  if (keepsMappings > 0) assert(counts().mappings <= keepsMappings, `the runtime keeps ${counts().mappings} mappings`)
}
