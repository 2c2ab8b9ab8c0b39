import type { EnvelopeKey } from '../../../host/index.ts'

/** The key of a number, the same in every party. */
export function secret(id: number): EnvelopeKey {
  return { id, key: new Uint8Array(32).fill(id) }
}
