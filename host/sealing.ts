/** What every envelope of this process has: who exports, a nonce and times; and room for what the addon writes into it. */
import type { ProcessIdentity } from './addon.ts'
import { rangeError, typeError } from './errors.ts'

/** Room for a vendor handle: the addon writes at most this much. */
export const HANDLE_CAPACITY = 4096

// Asking for 16 random bytes takes as long as asking for thousands.
const random = new Uint8Array(4096)
let randomUsed = random.length

function nextNonce(): Uint8Array {
  if (randomUsed === random.length) {
    crypto.getRandomValues(random)
    randomUsed = 0
  }
  return random.slice(randomUsed, (randomUsed += 16))
}

/** Milliseconds since 1970; 0 is never. */
function expiry(created: number, ttl: unknown): number {
  if (ttl === undefined) return 0
  if (typeof ttl !== 'number') throw typeError('invalid-ttl', 'ttl must be a number of milliseconds')
  if (!Number.isSafeInteger(created + ttl) || ttl <= 0) throw rangeError('invalid-ttl', `ttl must be an integer > 0 in milliseconds, not ${ttl}`)
  return created + ttl
}

/** The header's fields that say who exports, and when. */
export function exporterFields(process: ProcessIdentity, ttl: unknown) {
  const created = Date.now()
  return {
    pid: process.pid,
    startTime: process.startTime,
    pidNamespace: process.pidNamespace,
    bootId: process.bootId,
    created,
    expires: expiry(created, ttl),
    nonce: nextNonce(),
  }
}
