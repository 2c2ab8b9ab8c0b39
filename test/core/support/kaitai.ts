/** The parser that the Kaitai Struct compiler makes of docs/envelope.ksy, and its results as a list of fields. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

interface Span {
  start: number
  end: number
  ioOffset: number
}
/** An object of the generated parser, compiled with positions. */
interface Parsed {
  _debug: Record<string, Span>
  [id: string]: unknown
}
export interface Leaf {
  name: string
  offset: number
  length: number
  value: number | string | Uint8Array
}

interface Compiler {
  compile(language: string, ksy: unknown, importer: null, positions: boolean): Promise<Record<string, string>>
}
type Parser = new (stream: unknown) => Parsed & { _read(): void }

const require = createRequire(import.meta.url)

export async function kaitaiParser(): Promise<(bytes: Uint8Array) => Leaf[]> {
  const yaml = require('js-yaml') as { load(text: string): unknown }
  const compiler = require('kaitai-struct-compiler') as Compiler
  const Stream = require('kaitai-struct/KaitaiStream') as new (buffer: ArrayBuffer) => unknown
  const ksy = yaml.load(readFileSync(new URL('../../../docs/envelope.ksy', import.meta.url), 'utf8'))
  const source = (await compiler.compile('javascript', ksy, null, true))['UsmIpcEnvelope.js']!
  const made: { UsmIpcEnvelope?: Parser } = {}
  new Function('exports', 'require', source)(made, () => Stream)
  return (bytes) => {
    const parsed = new made.UsmIpcEnvelope!(new Stream(bytes.slice().buffer))
    parsed._read()
    return leaves(parsed)
  }
}

function leaves(of: Parsed): Leaf[] {
  return Object.entries(of._debug).flatMap(([id, span]) => {
    const value = of[id]
    if (Array.isArray(value)) return value.flatMap((item) => leaves(item as Parsed))
    if (isParsed(value)) return leaves(value)
    const name = id.replaceAll(/[A-Z]/g, (letter) => '_' + letter.toLowerCase())
    return { name, offset: span.ioOffset + span.start, length: span.end - span.start, value: value as Leaf['value'] }
  })
}

function isParsed(value: unknown): value is Parsed {
  return typeof value === 'object' && value !== null && '_debug' in value
}
