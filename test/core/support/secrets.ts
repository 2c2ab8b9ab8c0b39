/** What of a key is left in the core's memory. */
import type { Core } from '../../../host/core/index.ts'

const SHA_SCRATCH = 1024 + 16384
const STATIC_DATA = 32768

/** What is found of the key itself, of its pads, or in the scratch memory between calls; undefined: nothing. */
export function leftOf(core: Core, key: Uint8Array): string | undefined {
  const memory = Buffer.from(core.exports.memory.buffer)
  const forms = { key, 'inner pad': key.map((b) => b ^ 0x36), 'outer pad': key.map((b) => b ^ 0x5c) }
  for (const [name, bytes] of Object.entries(forms)) {
    // Any eight bytes of it: a part is a part of the secret.
    for (let i = 0; i + 8 <= bytes.length; i += 4) {
      const at = memory.indexOf(bytes.subarray(i, i + 8))
      if (at >= 0) return `the ${name}'s bytes from ${i} on at ${at}`
    }
  }
  const at = memory.subarray(SHA_SCRATCH, STATIC_DATA).findIndex((b) => b !== 0)
  return at < 0 ? undefined : `the scratch memory at ${SHA_SCRATCH + at}`
}
