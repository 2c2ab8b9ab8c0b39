/** The public functions, and the batch over separate envelopes. */
import { core, type Policy } from '../../../host/core/index.ts'

export { decode, seal, validate } from '../../../host/core/index.ts'

export function validateBatchOf(envelopes: readonly Uint8Array[], policy?: Policy): Uint8Array {
  const bytes = new Uint8Array(envelopes.reduce((sum, e) => sum + e.length, 0))
  const spans = new Uint32Array(2 * envelopes.length)
  let at = 0
  envelopes.forEach((e, i) => {
    bytes.set(e, at)
    spans.set([at, e.length], 2 * i)
    at += e.length
  })
  return core().validateBatch(bytes, spans, policy)
}
