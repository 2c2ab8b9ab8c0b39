/** Hexadecimal and UUID text of bytes, without Node's Buffer. */

const DECODER = new TextDecoder('utf-8', { ignoreBOM: true }) // a leading U+FEFF is text like any other
const DIGITS = Array.from({ length: 256 }, (_, b) => b.toString(16).padStart(2, '0'))

export function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const b of bytes) text += DIGITS[b]
  return text
}

/** The text of UTF-8 bytes, all of it. */
export function fromUtf8(bytes: Uint8Array): string {
  return DECODER.decode(bytes)
}

/** undefined unless the text is an even number of hexadecimal digits. */
export function fromHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(text)) return undefined
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => Number.parseInt(text.slice(2 * i, 2 * i + 2), 16))
}

/** `8-4-4-4-12` of 16 bytes. */
export function toUuid(bytes: Uint8Array): string {
  const h = toHex(bytes)
  return `${h.slice(0, 8)}-${h.slice(8, 12)}-${h.slice(12, 16)}-${h.slice(16, 20)}-${h.slice(20)}`
}

/** 16 bytes of a UUID's text, or undefined. */
export function fromUuid(text: string): Uint8Array | undefined {
  if (!/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text)) return undefined
  return fromHex(text.replaceAll('-', ''))
}
