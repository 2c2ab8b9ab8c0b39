/** The contract: what every backend does the same. Plain data, for any test runner. */
import { argumentCases } from './arguments.ts'
import { authentication } from './authentication.ts'
import { badInput } from './bad_input.ts'
import { copies } from './copies.ts'
import { descriptors } from './descriptors.ts'
import { dpctl } from './dpctl.ts'
import { elsewhere } from './elsewhere.ts'
import { handles } from './handles.ts'
import { hostHandles } from './host_handles.ts'
import { ranges } from './ranges.ts'
import { readOnly } from './read_only.ts'
import type { ContractCase } from './types.ts'
import { vendor } from './vendor.ts'
import { views } from './views.ts'

export type { BackendUnderTest, ContractCase, Elsewhere } from './types.ts'

export const contract: ContractCase[] = [
  ...dpctl, ...handles, ...ranges, ...copies, ...views, ...readOnly, ...argumentCases, ...badInput, ...authentication, ...elsewhere,
]

/** Beside it: where handles come with a memory file, and of the host's own handles. */
export const memoryFileContract: ContractCase[] = descriptors
export const hostContract: ContractCase[] = hostHandles
/** Of the handles of Level Zero and SYCL. */
export const vendorContract: ContractCase[] = vendor
