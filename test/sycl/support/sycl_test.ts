import test, { type ExecutionContext, type TestFn } from 'ava'
import { missing } from './runtime.ts'

/** A serial test; where the runtime is missing, a failure on CI and elsewhere a line that says why. */
export function syclTest(title: string, body: (t: ExecutionContext) => void | Promise<void>): void {
  const serial: TestFn['serial'] = test.serial
  serial(title, async (t) => {
    if (missing === undefined) return body(t)
    if (process.env.CI) return t.fail(missing)
    t.log(`skipped: ${missing}`)
    t.pass()
  })
}
