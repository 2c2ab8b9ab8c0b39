/** The text form: `usmipc0.` and base64url (RFC 4648 section 5) without padding. It is a bearer token: keep it out of logs. */

export const TEXT_PREFIX = 'usmipc0.'
/** base64url of the longest envelope, 16,384 bytes. */
const LONGEST = Math.ceil((16384 * 4) / 3)

/**
 * The text form of envelope bytes.
 *
 * @param bytes - an envelope, any length
 * @example
 * ```ts
 * import { fromText, toText } from 'usm-ipc/core'
 *
 * const text = toText(new Uint8Array([1, 2, 3]))
 * console.assert(text === 'usmipc0.AQID')
 * console.assert(fromText(text)?.length === 3)
 * ```
 */
export function toText(bytes: Uint8Array): string {
  let binary = ''
  for (const b of bytes) binary += String.fromCharCode(b)
  return TEXT_PREFIX + btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** The bytes of a text form; undefined where it is not one, or not the only spelling of its bytes. */
export function fromText(text: string): Uint8Array | undefined {
  if (!text.startsWith(TEXT_PREFIX)) return undefined
  const body = text.slice(TEXT_PREFIX.length)
  if (body.length > LONGEST) return undefined
  if (!/^[A-Za-z0-9_-]*$/.test(body) || body.length % 4 === 1) return undefined
  const bytes = Uint8Array.from(atob(body.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
  return toText(bytes) === text ? bytes : undefined
}
