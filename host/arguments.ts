/** Checks of arguments that more than one file makes. */
import { rangeError, typeError } from './errors.ts'

/** A value for an error message: short, and never a handle, which is a secret. */
export function quote(value: unknown): string {
  if (typeof value !== 'string') return value === null ? 'null' : typeof value === 'number' || typeof value === 'boolean' ? String(value) : typeof value
  if (value.startsWith('usmipc')) return 'the text form of a handle'
  return printable(value.length > 24 ? `'${value.slice(0, 12)}...'` : `'${value}'`)
}

/** What others wrote, without the characters that do something to a terminal or to the text around them. */
export function printable(text: string): string {
  return text.replace(/\p{C}/gu, (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`)
}

/** A positive size in bytes that JavaScript and the drivers can both hold. */
export function checkNbytes(nbytes: unknown, what = 'nbytes'): number {
  if (typeof nbytes === 'object' && nbytes !== null) {
    throw typeError('invalid-nbytes', `${what} must be a number of bytes, not an object: options come after it (undefined for all bytes)`)
  }
  if (typeof nbytes !== 'number') throw typeError('invalid-nbytes', `${what} must be a number of bytes, not ${typeof nbytes}`)
  if (!Number.isSafeInteger(nbytes) || nbytes <= 0) {
    throw rangeError('invalid-nbytes', `${what} must be an integer > 0 and at most 2^53-1, not ${nbytes}`)
  }
  return nbytes
}

/** An offset of which `length` bytes stay inside `size`. */
export function checkRange(offset: unknown, length: number, size: number, what: string): number {
  if (typeof offset !== 'number') throw typeError('invalid-offset', `offset must be a number of bytes, not ${typeof offset}`)
  if (!Number.isSafeInteger(offset) || offset < 0) throw rangeError('invalid-offset', `offset must be an integer from 0, not ${offset}`)
  if (length > size - offset) {
    throw rangeError('out-of-range', `${what}: ${length} bytes at offset ${offset} do not fit into ${size} bytes`)
  }
  return offset
}

// What was passed, and what was probably meant.
function described(value: unknown): string {
  if (typeof value === 'string') return 'a string: new TextEncoder().encode() makes bytes of text, fromText() of a handle\'s text form'
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
  if ('toBytes' in value) return 'a handle: pass handle.toBytes()'
  if ('bytes' in value) return 'a frame: pass frame.bytes'
  return Array.isArray(value) ? 'an array' : 'an object'
}

/** A Uint8Array over the same bytes. */
export function asBytes(source: unknown, what: string): Uint8Array {
  if (source instanceof Uint8Array) return source
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
  if (source instanceof ArrayBuffer || (typeof SharedArrayBuffer !== 'undefined' && source instanceof SharedArrayBuffer)) {
    return new Uint8Array(source)
  }
  throw typeError('invalid-bytes', `${what} must be a Uint8Array (or another view, or an ArrayBuffer), not ${described(source)}`)
}
