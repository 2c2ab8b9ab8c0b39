import type { ExecutionContext } from 'ava'
import { addon } from '../../host/addon.ts'

/** False, with the reason printed, where this addon has no fault points; in CI that is a failure, not a skip. */
export function faultsAreThere(t: ExecutionContext): boolean {
  if (addon().build.faults) return true
  const reason = 'the addon was built without fault points: cmake-js compile -O build-faults --CDUSM_IPC_FAULTS=ON, and USM_IPC_ADDON'
  if (process.env['CI'] === 'true') throw new Error(reason)
  console.log(`skipped: ${t.title}: ${reason}`)
  t.pass()
  return false
}
