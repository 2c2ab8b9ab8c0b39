// Writes what TypeScript and the docs take from the core: the module's bytes, and every name, code and offset in it.
// The wasm is the one source; nothing here is written by hand.
import { readFile, writeFile } from 'node:fs/promises'

const root = new URL('..', import.meta.url)
const bytes = await readFile(new URL('build/core.wasm', root))
const { exports: core } = new WebAssembly.Instance(new WebAssembly.Module(bytes), {})
const io = core.ioAddress()
const size = core.ioSize()

const text = (write) => {
  const length = write(io, 512)
  return new TextDecoder().decode(new Uint8Array(core.memory.buffer, io, length))
}
const list = (count, write) => Array.from({ length: count }, (_, i) => text((out, capacity) => write(i, out, capacity)))

const verdicts = list(core.verdictCount(), core.verdictName)
const messages = list(core.verdictCount(), core.verdictMessage)
const fields = list(core.fieldCount(), core.fieldName)
const named = (field) =>
  Object.fromEntries(
    Array.from({ length: 32 }, (_, value) => [text((out, capacity) => core.valueName(fields.indexOf(field), value, out, capacity)), value])
      .filter(([name]) => name !== ''),
  )

// An empty header, described: where each of its fields is.
const out = io + 4096
core.sealBegin(io, 4096)
const count = core.describe(io, 156, out, size - 4096)
const view = new DataView(core.memory.buffer)
const header = {}
for (let i = 0; i < count; i++) {
  const at = out + i * core.fieldRecordSize()
  const name = fields[view.getUint16(at + 8, true)]
  if (name !== 'crc32c' && name !== 'section_bytes') header[name] = view.getUint32(at, true)
}

const json = (value) => JSON.stringify(value, null, 2).replaceAll('"', "'")
const names = `// Made by scripts/generate.mjs from build/core.wasm.

/** Verdict names by code. */
export const VERDICTS = ${json(verdicts)} as const
/** The core's answer about some bytes: \`ok\`, or the first rule that they break. */
export type VerdictName = (typeof VERDICTS)[number]
/** What each verdict means, by code. */
export const MESSAGES: readonly string[] = ${JSON.stringify(messages, null, 2)}
/** Field names by id; ids without a field are ''. */
export const FIELDS: readonly string[] = ${json(fields)}
/** Byte offsets of the header's fields. */
export const HEADER = ${json(header)} as const
/** Codes by name. */
export const KINDS = ${json(named('kind'))} as const
export const BACKENDS = ${json(named('backend'))} as const
export const LAYOUTS = ${json(named('layout'))} as const
export const SECTIONS = ${json(named('section_type'))} as const
export const DESCRIPTOR_KINDS = ${json(named('entry_kind'))} as const
export const FURTHER_ROLES = ${json(named('further_role'))} as const
export type KindName = keyof typeof KINDS
export type BackendName = keyof typeof BACKENDS
export type LayoutName = keyof typeof LAYOUTS
export type DescriptorKindName = keyof typeof DESCRIPTOR_KINDS
`
await writeFile(new URL('host/core/names.generated.ts', root), names)
await writeFile(
  new URL('host/core/wasm.generated.ts', root),
  `// Made by scripts/generate.mjs: build/core.wasm in base64, so that loading needs neither a file nor a request.\nexport const WASM = '${bytes.toString('base64')}'\n`,
)

const table = [
  '# Verdicts', '',
  'Made by `scripts/generate.mjs` from the core. Codes are the numbers that the wasm ABI returns; the JavaScript API gives',
  'names, and errors carry them as `ERR_USM_IPC_` and the name in capitals.', '',
  '| code | name | meaning |', '|---|---|---|',
  ...verdicts.map((name, code) => `| ${code} | \`${name}\` | ${messages[code]} |`), '',
].join('\n')
await writeFile(new URL('docs/verdicts.md', root), table)
