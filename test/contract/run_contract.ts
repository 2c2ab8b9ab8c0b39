import test from 'ava'
import { runCase } from './run_case.ts'
import { applies, type BackendUnderTest, type ContractCase } from './types.ts'

/** Registers the cases with ava, one after the other: they count what this process holds. */
export function runContract(backend: BackendUnderTest, cases: readonly ContractCase[]): void {
  const title = backend.variant === undefined ? backend.name : `${backend.name} (${backend.variant})`
  for (const contractCase of cases.filter((c) => applies(c, backend))) {
    test.serial(`${title}: ${contractCase.name}`, async (t) => {
      await runCase(contractCase, backend)
      t.pass()
    })
  }
}
