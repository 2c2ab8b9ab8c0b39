/** Handle bytes as people have them: text form, hexadecimal, base64, a file, or stdin. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { fromHex } from '../core/bytes.ts'
import { TEXT_PREFIX, fromText } from '../core/text.ts'
import { UsageError } from './output.ts'

const MAX_INPUT = 1 << 20
/** The shortest vendor handle has 32 bytes; a shorter word is rather a misspelt file name. */
const SHORTEST_BASE64 = 40

/** The bytes that the argument stands for. */
export async function bytesArgument(argument: string): Promise<Uint8Array> {
  if (argument === '-') return fromContent(await readStdin())
  if (!argument.startsWith(TEXT_PREFIX) && existsSync(argument)) return fromContent(readFile(argument))
  const bytes = parse(argument, SHORTEST_BASE64)
  if (bytes === undefined) {
    throw new UsageError(`'${shorten(argument)}' is neither a file nor hexadecimal, base64 or ${TEXT_PREFIX}... text`)
  }
  return bytes
}

function readFile(path: string): Uint8Array {
  if (!statSync(path).isFile()) throw new UsageError(`${path} is not a file`)
  if (statSync(path).size > MAX_INPUT) throw new UsageError(`${path} is larger than 1 MiB: it is not a handle`)
  try {
    return readFileSync(path)
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${(error as Error).message}`)
  }
}

async function readStdin(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of process.stdin) {
      chunks.push(chunk as Uint8Array)
      size += (chunk as Uint8Array).length
      if (size > MAX_INPUT) throw new UsageError('stdin has more than 1 MiB: it is not a handle')
    }
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`cannot read stdin: ${(error as Error).message}`)
  }
  return Buffer.concat(chunks)
}

// A file holds the bytes themselves, or one of the text spellings.
function fromContent(content: Uint8Array): Uint8Array {
  const isText = content.every((b) => (b >= 0x20 && b < 0x7f) || b === 0x0a || b === 0x0d || b === 0x09)
  return (isText ? parse(Buffer.from(content).toString('latin1'), 0) : undefined) ?? content
}

function parse(text: string, shortestBase64: number): Uint8Array | undefined {
  const compact = text.replace(/\s+/g, '')
  if (compact === '') return new Uint8Array(0)
  if (compact.startsWith(TEXT_PREFIX)) return fromText(compact) ?? damaged(compact)
  return fromHex(compact.replace(/^0x/i, '')) ?? (compact.length < shortestBase64 ? undefined : fromBase64(compact))
}

// Its own characters, which are no envelope; what is wrong with them goes to stderr.
function damaged(text: string): Uint8Array {
  const at = text.slice(TEXT_PREFIX.length).search(/[^A-Za-z0-9_-]/)
  const where = at < 0 ? 'it was cut off or changed' : `character ${TEXT_PREFIX.length + at + 1} is not base64url`
  console.error(`this text form is damaged: ${where}`)
  return new TextEncoder().encode(text)
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
