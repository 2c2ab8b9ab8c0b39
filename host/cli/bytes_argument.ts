/** Handle bytes as people have them: text form, hexadecimal, base64, a file, or stdin. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { fromHex } from '../core/bytes.ts'
import { TEXT_PREFIX, fromText } from '../core/text.ts'
import { UsageError } from './output.ts'

const MAX_INPUT = 1 << 20

/** The bytes that the argument stands for. A text form that does not decode gives its own characters: not an envelope. */
export function bytesArgument(argument: string): Uint8Array {
  if (argument === '-') return fromContent(readAll(0, 'stdin'))
  if (!argument.startsWith(TEXT_PREFIX) && existsSync(argument)) {
    if (!statSync(argument).isFile()) throw new UsageError(`${argument} is not a file`)
    if (statSync(argument).size > MAX_INPUT) throw new UsageError(`${argument} is larger than 1 MiB: it is not a handle`)
    return fromContent(readAll(argument, argument))
  }
  const bytes = parse(argument)
  if (bytes === undefined) {
    throw new UsageError(`'${shorten(argument)}' is neither a file nor hexadecimal, base64 or ${TEXT_PREFIX}... text`)
  }
  return bytes
}

function readAll(from: string | number, name: string): Uint8Array {
  try {
    return readFileSync(from)
  } catch (error) {
    throw new UsageError(`cannot read ${name}: ${(error as Error).message}`)
  }
}

// A file holds the bytes themselves, or one of the text spellings.
function fromContent(content: Uint8Array): Uint8Array {
  const isText = content.every((b) => (b >= 0x20 && b < 0x7f) || b === 0x0a || b === 0x0d || b === 0x09)
  return (isText ? parse(Buffer.from(content).toString('latin1')) : undefined) ?? content
}

function parse(text: string): Uint8Array | undefined {
  const compact = text.replace(/\s+/g, '')
  if (compact === '') return new Uint8Array(0)
  if (compact.startsWith(TEXT_PREFIX)) return fromText(compact) ?? new TextEncoder().encode(compact)
  return fromHex(compact.replace(/^0x/i, '')) ?? fromBase64(compact)
}

function fromBase64(text: string): Uint8Array | undefined {
  const standard = text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')
  if (!/^[A-Za-z0-9+/]+$/.test(standard)) return undefined
  const bytes = Buffer.from(standard, 'base64')
  return bytes.toString('base64').replace(/=+$/, '') === standard ? bytes : undefined
}

// What was typed may be a handle, which is a secret.
function shorten(text: string): string {
  return text.length > 24 ? `${text.slice(0, 12)}...` : text
}
