import test from 'ava'
import { authenticateEnvelope, inspect, seal, toHex, toUuid, type Field } from '../../host/core/index.ts'
import { KEY, base } from './support/base.ts'
import { lengthened } from './support/forge.ts'
import { LAYOUT_NAMES, plan } from './support/generate.ts'
import { kaitaiParser, type Leaf } from './support/kaitai.ts'
import { Random } from './support/source.ts'

const parse = await kaitaiParser()

/** The parser's numbers are doubles, so integers above 2^53 are compared as such. */
function comparable(field: Field): number | string {
  if (typeof field.value === 'bigint') return Number(field.value)
  if (typeof field.value === 'string' && field.value.startsWith('0x')) return Number(BigInt(field.value))
  // The parser's text decoder drops a leading U+FEFF.
  return field.name === 'name' ? String(field.value).replace(/^\ufeff/, '') : field.value
}

function ofLeaf({ value, name }: Leaf): number | string {
  if (!(value instanceof Uint8Array)) return value
  if (name === 'magic') return new TextDecoder().decode(value)
  return name.endsWith('_uuid') || name === 'boot_id' ? toUuid(value) : toHex(value)
}

function difference(bytes: Uint8Array): string | undefined {
  const ours = inspect(bytes).fields.map((f) => `${f.name} ${f.offset} ${f.length} ${comparable(f)}`)
  const theirs = parse(bytes).map((leaf) => `${leaf.name} ${leaf.offset} ${leaf.length} ${ofLeaf(leaf)}`)
  const i = ours.findIndex((text, k) => text !== theirs[k])
  return ours.length === theirs.length && i < 0 ? undefined : `core: ${ours[i]}; Kaitai: ${theirs[i]}`
}

for (const layout of LAYOUT_NAMES) {
  test(`docs/envelope.ksy describes what the core does: ${layout}`, (t) => {
    t.is(difference(base(layout)), undefined)
    t.is(difference(authenticateEnvelope(base(layout), KEY)), undefined)
  })
}

test('docs/envelope.ksy agrees with the core on 10,000 envelopes, field by field', (t) => {
  const random = new Random(11)
  const layouts = new Set<string>()
  for (let i = 0; i < 10_000; i++) {
    const { header, sections } = plan(random)
    layouts.add(header.layout)
    const bytes = seal(header, sections, i % 3 === 0 ? { key: KEY } : {})
    const fault = difference(i % 4 === 3 ? lengthened(bytes, 1, random.bytes(8 * random.int(0, 4))) : bytes)
    if (fault !== undefined) return t.fail(`envelope ${i} (${header.layout}): ${fault}`)
  }
  t.is(layouts.size, LAYOUT_NAMES.length)
})

test('the Kaitai parser refuses another major version and a magic that is not ours', (t) => {
  const other = base('cuda').slice()
  other[6] = 1
  t.throws(() => parse(other))
  other[6] = 0
  other[0] = 0
  t.throws(() => parse(other))
})
