import { readFile } from 'node:fs/promises'
import test from 'ava'
import {
  BACKENDS, DESCRIPTOR_KINDS, FIELDS, FURTHER_ROLES, HEADER, KINDS, LAYOUTS, SECTIONS, TEXT_PREFIX, fromHex, inspect, seal, type LayoutName,
} from '../../host/core/index.ts'
import { base, baseHandle, baseHeader, leastSections, sectionAt } from './support/base.ts'
import { crc32c } from './support/crc32c.ts'
import { checkByte } from './support/forge.ts'
import { BACKEND_OF, LAYOUT_NAMES } from './support/generate.ts'

const document = await readFile(new URL('../../docs/wire-format.md', import.meta.url), 'utf8')
const ksy = await readFile(new URL('../../docs/envelope.ksy', import.meta.url), 'utf8')

function chapter(title: string): string {
  const start = document.indexOf(`\n${title}\n`)
  if (start < 0) throw new Error(`no chapter '${title}'`)
  const end = document.slice(start + 1).search(/\n##/)
  return end < 0 ? document.slice(start) : document.slice(start, start + 1 + end)
}

/** Rows of a chapter's tables whose first cells are offset, length and a field. */
function fieldRows(title: string): [number, number, string][] {
  return [...chapter(title).matchAll(/^\| (\d+) \| (\d+) \| `(\w+)` \|/gm)].map(([, offset, length, name]) => [Number(offset), Number(length), name!])
}

test('the header table is the header', (t) => {
  const fields = inspect(base('host')).fields.filter((f) => f.offset < 152)
  t.deepEqual(fieldRows('### Header'), fields.map((f) => [f.offset, f.length, f.name]))
  t.deepEqual(Object.fromEntries(fields.map((f) => [f.name, f.offset])), { ...HEADER })
})

test('the tables of a section header, a descriptor entry and an array are the structures', (t) => {
  const at = sectionAt('host', SECTIONS.descriptors)
  const fields = inspect(base('host')).fields
  const from = (start: number, end: number): [number, number, string][] =>
    fields.filter((f) => f.offset >= start && f.offset < end).map((f) => [f.offset - start, f.length, f.name])
  const rows = fieldRows('### Sections')
  t.deepEqual(rows.slice(0, 4), from(at, at + 8))
  t.deepEqual(rows.slice(4, 8), from(at + 8, at + 32))
  const array = sectionAt('host', SECTIONS.array) + 8
  t.deepEqual(rows.slice(8), from(array, array + 16))
})

test('the layouts table is the layouts, with their lengths', (t) => {
  const rows = [...chapter('## Vendor layouts').matchAll(/^\| (\d+) \| `([\w-]+)` \| (\w+) \| (\d+) \|$/gm)]
  t.deepEqual(rows.map(([, code, name, backend, length]) => [Number(code), name, backend, Number(length)]),
    LAYOUT_NAMES.map((name) => [LAYOUTS[name], name, BACKEND_OF[name], baseHandle(name).length]))
})

test('the document and envelope.ksy know every field and every code', (t) => {
  t.deepEqual(FIELDS.filter((name) => name !== '' && !document.includes(`\`${name}\``)), [])
  t.deepEqual(FIELDS.filter((name) => name !== '' && !ksy.includes(`- id: ${name}\n`)), [])
  for (const codes of [KINDS, BACKENDS, DESCRIPTOR_KINDS]) {
    for (const [name, code] of Object.entries(codes)) t.true(document.includes(`${code} ${name}`), name)
  }
  for (const [name, code] of [...Object.entries(SECTIONS), ...Object.entries(FURTHER_ROLES)]) t.regex(document, new RegExp(`^\\| ${code} \\| ${name} \\|`, 'm'))
  for (const codes of [KINDS, BACKENDS, LAYOUTS, SECTIONS, DESCRIPTOR_KINDS, FURTHER_ROLES]) {
    for (const [name, code] of Object.entries(codes)) t.true(ksy.includes(`    ${code}: ${name.replaceAll('-', '_')}\n`), name)
  }
})

test('the worked example of a check byte is right, and what the core computes', (t) => {
  const [, text] = /^ {4}((?:[0-9a-f]{2} ){7}[0-9a-f]{2})$/m.exec(chapter('### Check bytes'))!
  const bytes = fromHex(text!.replaceAll(' ', ''))!
  const check = bytes[3]!
  t.is(checkByte(bytes, 0, 8, 3), check)
  t.deepEqual(base('host').slice(152, 160), bytes)
  const [, sum, result] = /^ {4}([0-9a-f]{2}(?: \^ [0-9a-f]{2})+) = ([0-9a-f]{2})$/m.exec(document)!
  t.is(sum!.split(' ^ ').reduce((x, byte) => x ^ Number.parseInt(byte, 16), 0), Number.parseInt(result!, 16))
  t.is(Number.parseInt(result!, 16), check)
})

test('the checksum, the text form and the limits are as the document says', (t) => {
  t.true(document.includes('0x' + crc32c(new TextEncoder().encode('123456789')).toString(16)))
  t.true(document.includes(`\`${TEXT_PREFIX}\``))
  const smallest = LAYOUT_NAMES.map((layout: LayoutName) => {
    return [layout, seal(baseHeader(layout), leastSections(layout)).length] as const
  })
  const least = Math.min(...smallest.map(([, length]) => length))
  t.true(document.includes(`| shortest valid envelope | ${least} bytes`))
  for (const [layout, length] of smallest) {
    t.is(length === least, new RegExp(`shortest valid envelope.*\`${layout}\``).test(document), layout)
  }
})

test('the documents name no place of a machine', async (t) => {
  for (const name of ['wire-format.md', 'wasm-abi.md', 'envelope.ksy', 'verdicts.md']) {
    const text = await readFile(new URL(`../../docs/${name}`, import.meta.url), 'utf8')
    t.notRegex(text, /(^|[\s`(])\/(work|home|tmp|root|usr)\b/m, name)
  }
})
