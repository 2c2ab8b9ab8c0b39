/** What an exporter's refusal is as an error of ours. */
import { VERDICTS } from '../core/names.generated.ts'
import { HandleError, PeerError } from '../errors.ts'
import type { Refused } from './protocol.ts'

/** Reasons that exporters of this version give; any other is `refused`. */
const REASONS = [
  'protocol', 'unsupported-protocol', 'unauthorized', 'overflow-uid', 'no-such-name', 'too-many-leases', 'too-many-peers', 'closing', 'timeout',
]

export function refusal({ code, message }: Refused): PeerError | HandleError {
  // What the exporter's books say of an allocation id.
  if (code === 'stale-handle' || code === 'never-issued' || code === 'unknown-claim') {
    return new HandleError(VERDICTS[VERDICTS.indexOf(code)]!, `the exporter says: ${message}`)
  }
  return new PeerError(REASONS.includes(code) ? code : 'refused', `the exporter says: ${message}`)
}
