import { readFile } from 'node:fs/promises'
import test from 'ava'
import { Core, FIELDS, HEADER, LAYOUTS, MESSAGES, VERDICTS, instantiate, seal, type CoreExports } from '../../host/core/index.ts'
import { KEY_RECORD, MAX_KEYS, keyRecord } from '../../host/keys.ts'
import { KEY, base } from './support/base.ts'
import { sectionsOf } from './support/forge.ts'
import { plan } from './support/generate.ts'
import { generated } from './support/generated.ts'
import { outsideHash } from './support/memory.ts'
import { Mutator } from './support/mutate.ts'
import { Random } from './support/source.ts'

const bytes = await readFile(new URL('../../build/core.wasm', import.meta.url))
const module = new WebAssembly.Module(bytes)
const code = (name: (typeof VERDICTS)[number]): number => VERDICTS.indexOf(name)
const BAD_SPAN = code('bad-span')

function fresh(): { core: CoreExports; io: number; end: number } {
  const core = instantiate(module)
  return { core, io: core.ioAddress(), end: core.ioAddress() + core.ioSize() }
}

test('the module imports nothing and is small', (t) => {
  t.deepEqual(WebAssembly.Module.imports(module), [])
  t.true(bytes.length <= 40_960, `${bytes.length} bytes`)
})

test('the module inside the package is the one that was built', (t) => {
  const { core } = fresh()
  const own = instantiate()
  t.deepEqual(Object.keys(own), Object.keys(core))
  t.is(own.abiVersion(), 0)
})

test('numbers are what the document says', (t) => {
  const { core, io } = fresh()
  t.is(core.ioSize(), 262_144)
  t.is(core.maxEnvelope(), 16_384)
  t.is(core.fieldRecordSize(), 24)
  t.is(core.ledgerRecordSize(), 72)
  t.true(core.memory.buffer.byteLength >= io + core.ioSize())
})

test('every export is documented and every documented call is exported', async (t) => {
  const document = await readFile(new URL('../../docs/wasm-abi.md', import.meta.url), 'utf8')
  const documented = [...document.matchAll(/^\| (`.*?)\|/gm)].flatMap(([, cell]) => [...cell!.matchAll(/`(\w+)\(([^)]*)\)`/g)])
  const { core } = fresh()
  const functions = Object.entries(core).filter(([, value]) => typeof value === 'function')
  t.deepEqual(documented.map(([, name]) => name).sort(), functions.map(([name]) => name).sort())
  for (const [, name, list] of documented) {
    const parameters = list === '' ? 0 : list!.split(',').length
    t.is((core[name as keyof CoreExports] as () => void).length, parameters, name)
  }
})

test('names that the package has are those of the wasm', (t) => {
  const { core, io } = fresh()
  const text = (length: number): string => new TextDecoder().decode(new Uint8Array(core.memory.buffer).slice(io, io + length))
  t.is(core.verdictCount(), VERDICTS.length)
  t.deepEqual(VERDICTS.map((_, i) => text(core.verdictName(i, io, 512))), [...VERDICTS])
  t.deepEqual(MESSAGES.map((_, i) => text(core.verdictMessage(i, io, 512))), [...MESSAGES])
  t.is(core.fieldCount(), FIELDS.length)
  t.deepEqual(FIELDS.map((_, i) => text(core.fieldName(i, io, 512))), [...FIELDS])
  t.is(new Set(VERDICTS).size, VERDICTS.length)
  const named = FIELDS.filter((name) => name !== '')
  t.is(new Set(named).size, named.length)
  for (const message of MESSAGES) t.regex(message, /^[ -~]{10,120}$/)
  for (const unknown of [VERDICTS.length, 255, 0xffff_ffff]) {
    t.is(core.verdictName(unknown, io, 512), 0)
    t.is(core.verdictMessage(unknown, io, 512), 0)
  }
})

test('a name that does not fit is not written', (t) => {
  const { core, io } = fresh()
  const u8 = new Uint8Array(core.memory.buffer)
  u8.fill(0xee, io, io + 32)
  const i = code('missing-handle')
  t.is(core.verdictName(i, io, 13), 0)
  t.true(u8.subarray(io, io + 32).every((b) => b === 0xee))
  t.is(core.verdictName(i, io, 14), 14)
  t.is(u8[io + 14], 0xee)
})

test('what scripts/generate.mjs made is what it makes now', async (t) => {
  for (const [path, now] of Object.entries(await generated())) {
    t.true(now === (await readFile(new URL(`../../${path}`, import.meta.url), 'utf8')), `${path} is out of date`)
  }
})

// Hostile spans.

const I32 = 2 ** 32
function hostileSpans(io: number, end: number, random: Random): [number, number][] {
  const pointers = [0, 1, io - 1, io - 64, io, io + 1, end - 1, end, end + 1, 0x7fff_ffff, 0x8000_0000, I32 - 1, I32 - 64, random.u32()]
  const lengths = [0, 1, 16, 64, end - io, end - io + 1, 0x7fff_ffff, 0x8000_0000, I32 - 1, I32 - io, random.u32()]
  return pointers.flatMap((p) => lengths.map((l): [number, number] => [p, l]))
}

/** What a refusal gives, the span's length where it is fixed, the call. */
type SpanCall = [refusal: number, length: number | undefined, call: (p: number, l: number) => number]

/** Calls with a policy at `io + 1000` that says these keys, and a list of one empty span at `io + 2000`. */
function withKeys(core: CoreExports, io: number, keys: number, count: number, call: () => number): number {
  const view = new DataView(core.memory.buffer)
  new Uint8Array(core.memory.buffer).fill(0, io + 1000, io + 1064)
  view.setUint32(io + 1048, keys, true)
  view.setUint32(io + 1052, count, true)
  view.setUint32(io + 2000, io, true)
  view.setUint32(io + 2004, 0, true)
  return count === 0 ? BAD_SPAN : call()
}

/** Each export that takes spans. */
function spanCalls(core: CoreExports, io: number): Record<string, SpanCall> {
  return {
    validate: [BAD_SPAN, undefined, (p, l) => core.validate(p, l, 0)],
    'validate (policy)': [BAD_SPAN, 64, (p) => (p === 0 ? BAD_SPAN : core.validate(io, 10, p))],
    'validateBatch (list)': [BAD_SPAN, 8, (p) => core.validateBatch(p, 1, 0, io)],
    'validateBatch (count)': [BAD_SPAN, undefined, (p, l) => core.validateBatch(p, Math.ceil(l / 8), 0, io + 131_072)],
    'validateBatch (out)': [BAD_SPAN, undefined, (p, l) => core.validateBatch(io, Math.min(l, 4), 0, p)],
    'validate (keys)': [BAD_SPAN, undefined, (p, l) => withKeys(core, io, p, Math.ceil(l / 72), () => core.validate(io, 10, io + 1000))],
    'validateBatch (keys)': [BAD_SPAN, undefined, (p, l) => withKeys(core, io, p, Math.ceil(l / 72), () => core.validateBatch(io + 2000, 1, io + 1000, io + 3000))],
    validateArray: [BAD_SPAN, undefined, (p, l) => core.validateArray(p, l, 4096)],
    validateHandle: [BAD_SPAN, undefined, (p, l) => core.validateHandle(1, p, l)],
    describe: [-BAD_SPAN, undefined, (p, l) => core.describe(p, l, io, 1000)],
    'describe (out)': [-BAD_SPAN, undefined, (p, l) => core.describe(io, 200, p, l)],
    describeVendor: [-BAD_SPAN, undefined, (p, l) => core.describeVendor(6, p, l, io, 1000)],
    'describeVendor (out)': [-BAD_SPAN, undefined, (p, l) => core.describeVendor(6, io, 64, p, l)],
    findSection: [0, undefined, (p, l) => core.findSection(p, l, 1)],
    sealBegin: [BAD_SPAN, undefined, (p, l) => core.sealBegin(p, l)],
    sealSection: [BAD_SPAN, undefined, (p, l) => core.sealSection(p, l, 1, 1, io, 64)],
    'sealSection (bytes)': [BAD_SPAN, undefined, (p, l) => core.sealSection(io, 1000, 1, 1, p, l)],
    sealEnd: [-BAD_SPAN, undefined, (p, l) => core.sealEnd(p, l)],
    sealEndAuthenticated: [-BAD_SPAN, undefined, (p, l) => core.sealEndAuthenticated(p, l, io)],
    'sealEndAuthenticated (key)': [-BAD_SPAN, 72, (p) => core.sealEndAuthenticated(io, 1000, p)],
    authenticate: [-BAD_SPAN, undefined, (p, l) => core.authenticate(p, l, io)],
    'authenticate (key)': [-BAD_SPAN, 72, (p) => core.authenticate(io, 1000, p)],
    sha256: [BAD_SPAN, undefined, (p, l) => core.sha256(p, l, io)],
    'sha256 (out)': [BAD_SPAN, 32, (p) => core.sha256(io, 100, p)],
    'hmacSha256 (key)': [BAD_SPAN, undefined, (p, l) => core.hmacSha256(p, l, io, 100, io + 1000)],
    hmacSha256: [BAD_SPAN, undefined, (p, l) => core.hmacSha256(io, 32, p, l, io + 1000)],
    'hmacSha256 (out)': [BAD_SPAN, 32, (p) => core.hmacSha256(io, 32, io, 100, p)],
    crc32c: [0, undefined, (p, l) => core.crc32c(p, l)],
    verdictName: [0, undefined, (p, l) => core.verdictName(1, p, l)],
    verdictMessage: [0, undefined, (p, l) => core.verdictMessage(1, p, l)],
    fieldName: [0, undefined, (p, l) => core.fieldName(1, p, l)],
    valueName: [0, undefined, (p, l) => core.valueName(FIELDS.indexOf('backend'), 1, p, l)],
    ledgerReset: [BAD_SPAN, 16, (p) => core.ledgerReset(p, 0)],
    ledgerNextId: [BAD_SPAN, 16, (p) => core.ledgerNextId(p)],
    ledgerStatus: [BAD_SPAN, 16, (p) => core.ledgerStatus(p)],
    ledgerToken: [0, 16, (p) => core.ledgerToken(p)],
    ledgerAdd: [-BAD_SPAN, 16, (p) => core.ledgerAdd(0, p, 1, 1, 1)],
    ledgerList: [-BAD_SPAN, undefined, (p, l) => core.ledgerList(0, p, l)],
  }
}

for (const name of Object.keys(spanCalls(fresh().core, 0))) {
  test(`hostile spans: ${name}`, (t) => {
    const { core, io, end } = fresh()
    const [refusal, fixed, call] = spanCalls(core, io)[name]!
    const u8 = new Uint8Array(core.memory.buffer)
    const random = new Random(1)
    for (let i = io; i < end; i++) u8[i] = random.u32() // whatever lies there
    u8.set(base('host'), io)
    const before = outsideHash(core)
    let refused = 0
    for (const [p, l] of hostileSpans(io, end, random)) {
      const length = fixed ?? (name.includes('(keys)') ? 72 * Math.ceil(l / 72) : name.includes('count') ? 8 * Math.ceil(l / 8) : name.includes('(out)') && name.includes('Batch') ? Math.min(l, 4) : l)
      const result = call(p, l)
      if (p >= io && p + length <= end) continue
      t.is(result, refusal, `${p}, ${l}`)
      refused++
    }
    t.true(refused >= (fixed ? 8 : 60))
    t.is(outsideHash(core), before)
  })
}

test('arguments that are no spans: any number', (t) => {
  const { core, io } = fresh()
  const before = outsideHash(core)
  for (const n of [0, 1, 11, 12, 127, 128, 255, 256, 65_535, 65_536, 0x7fff_ffff, 0x8000_0000, I32 - 1]) {
    t.true(core.validateHandle(n, io, 64) < VERDICTS.length)
    t.is(core.layoutBackendOf(n) !== 0, n >= 1 && n <= 11)
    t.true(core.describeVendor(n, io, 64, io + 1000, 4000) >= -VERDICTS.length)
    const found = core.findSection(io, 1000, n)
    t.true(found === 0 || (found >= io && found < io + 1000))
    t.true(core.valueName(n, n, io, 100) <= 100)
    t.true(core.ledgerCount(n) === 0)
    t.is(core.ledgerList(n, io, 1000), 0)
    t.true(core.ledgerEnd(n) > 0)
    t.is(core.validateBatch(io, n, 0, io + 131_072) === BAD_SPAN, n > 32_768)
  }
  t.is(outsideHash(core), before)
})

test('sealing with a header that says anything stays in its buffer', (t) => {
  const { core, io, end } = fresh()
  const u8 = new Uint8Array(core.memory.buffer)
  const view = new DataView(core.memory.buffer)
  const random = new Random(2)
  const before = outsideHash(core)
  for (let i = 0; i < 20_000; i++) {
    const capacity = 152 + random.below(1000)
    const at = i % 2 === 0 ? end - capacity : io + random.below(1000)
    u8.fill(0, at, at + capacity)
    u8.fill(0x5a, Math.max(io, at - 64), at)
    u8.fill(0x5a, at + capacity, Math.min(end, at + capacity + 64))
    if (random.below(4) === 0) core.sealBegin(at, capacity)
    view.setUint32(at + HEADER.total_length, random.below(2) === 0 ? random.u32() : 140 + random.below(1200), true)
    const length = random.below(2) === 0 ? random.below(1000) : random.u32()
    core.sealSection(at, capacity, random.u32(), random.u32(), io, length)
    if (random.below(2) === 0) core.sealEnd(at, capacity)
    else {
      // A key of its own place, or one that lies under what is written (and is wiped there).
      const key = random.below(4) === 0 ? at + random.below(capacity - KEY_RECORD) : io + 100_000
      u8.set(keyRecord(KEY, 'key'), key)
      if (random.below(2) === 0) core.sealEndAuthenticated(at, capacity, key)
      else core.authenticate(at, capacity, key)
      if (!u8.subarray(key, key + KEY_RECORD).every((b) => b === 0)) return t.fail('a key was not wiped')
    }
    const around = [...u8.subarray(Math.max(io, at - 64), at), ...u8.subarray(at + capacity, Math.min(end, at + capacity + 64))]
    if (!around.every((b) => b === 0x5a)) return t.fail(`capacity ${capacity}`)
  }
  t.is(outsideHash(core), before)
})

test('buffer-too-small: what does not fit is not sealed', (t) => {
  const { core, io } = fresh()
  const small = code('buffer-too-small')
  t.is(core.sealBegin(io, 155), small)
  t.is(core.sealBegin(io, 156), 0)
  t.is(core.sealSection(io, 156, 1, 1, io + 1000, 0), small)
  t.is(core.sealSection(io, 227, 1, 1, io + 1000, 64), small)
  t.is(core.sealSection(io, 228, 1, 1, io + 1000, 64), 0)
  t.is(core.sealEnd(io, 227), -small)
  t.is(core.sealEnd(io, 228), -code('unknown-kind')) // its header is empty
  t.is(core.sealBegin(io, 100_000), 0)
  t.is(core.sealSection(io, 100_000, 6, 0, io + 32_768, 16_384 - 156 - 12), 0)
  t.is(core.sealBegin(io, 100_000), 0)
  t.is(core.sealSection(io, 100_000, 6, 0, io + 32_768, 16_384 - 156 - 11), small)
})

test('a description over the bytes that are described neither traps nor leaves its span', (t) => {
  const { core, io, end } = fresh()
  const u8 = new Uint8Array(core.memory.buffer)
  const before = outsideHash(core)
  const { header, sections } = plan(new Random(1))
  const ones = Array.from({ length: 32 }, () => 1)
  const longArray = seal(header, { ...sections, array: { code: 2, bits: 1, lanes: 1, shape: ones, strides: ones } })
  // Large numbers everywhere but in the number of dimensions, to be written over it.
  const at = sectionsOf(longArray).find((s) => s.type === 4)!.at + 8
  longArray.fill(0xff, at, at + 4).fill(0xff, at + 8, at + 16 + 32 * 16)
  for (let shift = 0; shift < longArray.length; shift++) {
    for (const start of [io + 2000, end - longArray.length]) {
      u8.set(longArray, start)
      const out = start + shift - 1500
      const count = core.describe(start, longArray.length, out, end - out)
      t.true(count > 0 && count <= longArray.length)
    }
  }
  t.is(outsideHash(core), before)
})

// Instances.

test('a second instance is independent', (t) => {
  const [a, b] = [new Core(module), new Core(module)]
  a.validate(base('host'))
  a.exports.ledgerAdd(1, a.inputAt, 1, 1, 1)
  t.is(b.u8[b.inputAt], 0)
  t.is(b.exports.ledgerCount(0), 0)
  t.is(b.validate(base('cuda')), 'ok')
  t.is(a.exports.ledgerCount(0), 1)
  t.deepEqual([...a.u8.subarray(a.inputAt, a.inputAt + base('host').length)], [...base('host')])
})

test('what a core did before does not matter: same bytes and policy, same verdict', (t) => {
  const used = new Core(module)
  used.u8.fill(1, used.inputAt, used.inputAt + 16)
  t.is(used.exports.ledgerEnd(used.exports.ledgerAdd(1, used.inputAt, 1, 1, 1)), 0) // grows the memory, now and not below
  const mutator = new Mutator(used, 5, 50)
  const inputs: { input: Uint8Array; policy: Uint8Array; keys: Uint8Array; verdict: number; at: number }[] = []
  const ask = (core: Core, input: Uint8Array, policy: Uint8Array, keys: Uint8Array): [number, number] => {
    core.u8.set(keys, core.keysAt)
    core.u8.set(input, core.inputAt)
    core.u8.set(policy, core.policyAt)
    const verdict = core.exports.validate(core.inputAt, input.length, core.policyAt)
    return [verdict, verdict === 0 ? 0 : core.exports.failureAddress() - core.inputAt]
  }
  for (let i = 0; i < 500; i++) {
    mutator.envelope()
    mutator.policy()
    const input = used.u8.slice(used.inputAt, used.inputAt + mutator.length)
    const policy = used.u8.slice(used.policyAt, used.policyAt + 64)
    const keys = used.u8.slice(used.keysAt, used.keysAt + 2 * MAX_KEYS * KEY_RECORD)
    const [verdict, at] = ask(new Core(module), input, policy, keys)
    inputs.push({ input, policy, keys, verdict, at })
  }
  for (let i = 0; i < 10_000; i++) {
    mutator.envelope()
    used.exports.validate(used.inputAt, mutator.length, 0)
    used.exports.describe(used.inputAt, mutator.length, used.listAt, used.listSize)
    mutator.handle()
    used.exports.validateHandle(mutator.layout, used.inputAt, mutator.length)
    used.exports.ledgerEnd(used.exports.ledgerAdd(1, used.inputAt, 1, 1, 1))
  }
  for (const { input, policy, keys, verdict, at } of inputs) t.deepEqual(ask(used, input, policy, keys), [verdict, at])
  t.true(new Set(inputs.map((i) => i.verdict)).size > 25)
})

test('every layout has a backend, and findSection finds what is there', (t) => {
  const { core, io } = fresh()
  for (const layout of Object.values(LAYOUTS)) t.true(core.layoutBackendOf(layout) > 0)
  const host = base('host')
  new Uint8Array(core.memory.buffer).set(host, io)
  const view = new DataView(core.memory.buffer)
  for (let type = 1; type <= 6; type++) t.is(view.getUint16(core.findSection(io, host.length, type), true), type)
  for (const type of [0, 7, 0x1_0001]) t.is(core.findSection(io, host.length, type), 0)
})

interface Example {
  length: number
  verdict: string
  tooMuch: string
  tooMuchAt: number
  fields: [string, number][]
  damaged: string
}

test('the example of docs/wasm-abi.md does what the document says', async (t) => {
  const document = await readFile(new URL('../../docs/wasm-abi.md', import.meta.url), 'utf8')
  const [, source] = /```js\n([\s\S]*?)```/.exec(document)!
  const result = new Function('module', source!)(module) as Example
  const { fields, ...rest } = result
  const [first, last] = [fields[0]!, fields.at(-1)!]
  t.deepEqual(rest, { length: 228, verdict: 'ok', tooMuch: 'nbytes-beyond-range', tooMuchAt: 56, damaged: 'bad-checksum' })
  const says = `returns length ${rest.length}, verdict \`${rest.verdict}\`, \`${rest.tooMuch}\` at byte ${rest.tooMuchAt}, ` +
    `${fields.length} fields of which the first is \`${first[0]}\` at ${first[1]} and the last \`${last[0]}\` at ${last[1]}, and \`${rest.damaged}\``
  t.true(document.replaceAll('\n', ' ').includes(says), says)
})
