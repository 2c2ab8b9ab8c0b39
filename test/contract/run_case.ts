import assert from 'node:assert/strict'
import { counts } from '../support/counts.ts'
import { collectUntil } from '../support/gc.ts'
import type { BackendUnderTest, ContractCase } from './types.ts'

/** Runs a case and then asks whether anything is left: claims in the books, memory files, mappings. */
export async function runCase(contractCase: ContractCase, backend: BackendUnderTest): Promise<void> {
  const before = counts()
  await contractCase.run(backend)
  const closed = (): boolean => JSON.stringify(counts()) === JSON.stringify(before)
  if (contractCase.collects) await collectUntil(closed)
  assert.deepEqual(counts(), before, 'the case left something open')
}
