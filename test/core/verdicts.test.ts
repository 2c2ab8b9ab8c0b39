import { inspect } from 'node:util'
import test from 'ava'
import { FURTHER_ROLES, LAYOUTS, VERDICTS, seal, type ArrayMetadata, type EnvelopeSections, type LayoutName, type VerdictName } from '../../host/core/index.ts'
import { HANDLE_AT, NBYTES, base, baseHandle, baseHeader } from './support/base.ts'
import { answer, ask, askHandle, type Case } from './support/cases/case.ts'
import { WITH_ENVELOPE_ONLY, handles } from './support/cases/handles.ts'
import { header } from './support/cases/header.ts'
import { outside } from './support/cases/outside.ts'
import { policy, satisfied } from './support/cases/policy.ts'
import { bodies, sections } from './support/cases/sections.ts'
import { RULES } from './support/rules.ts'

const cases = [...outside, ...header, ...sections, ...bodies, ...handles, ...policy]
const LAYOUT_NAMES = Object.keys(LAYOUTS) as LayoutName[]

/** Verdicts that are not about an envelope, a raw handle or a policy; the ABI's and the ledger's tests have them. */
const ELSEWHERE = new Set([
  'bad-span', 'buffer-too-small', 'bad-key',
  'unknown-claim', 'double-close', 'ledger-full', 'stale-handle', 'never-issued', 'bad-record',
])

for (const layout of LAYOUT_NAMES) {
  test(`what the cases break is valid: ${layout}`, (t) => {
    t.is(ask(base(layout)).verdict, 'ok')
    t.is(askHandle(LAYOUTS[layout], baseHandle(layout)).verdict, 'ok')
  })
}

for (const rule of new Set(cases.map((c) => c.rule))) {
  test(`rule ${rule}`, (t) => {
    for (const c of cases.filter((other) => other.rule === rule)) {
      t.deepEqual(answer(c), { verdict: c.verdict, at: c.at }, `${c.layout ?? 'host'} ${c.change} ${c.after} ${c.policy}`)
    }
  })
}

test('policies that hold, at their limits', (t) => {
  for (const fill of satisfied) {
    const block = new Uint8Array(64)
    fill(new DataView(block.buffer))
    t.is(ask(base('host'), block).verdict, 'ok', String(fill))
  }
})

test('what no rule forbids passes: limits, from inside', (t) => {
  const valid: Omit<Case, 'rule' | 'verdict' | 'at'>[] = [
    { change: (v) => v.setUint8(7, 255) },
    { change: (v) => v.setBigUint64(128, 0n, true) },
    { change: (v) => v.setBigUint64(128, v.getBigUint64(120, true), true) },
    { change: (v) => v.setBigUint64(128, 2n ** 53n - 1n, true) },
    { change: (v) => v.setBigUint64(56, 0xf_f000n, true) },
    { change: (v) => [120, 128].forEach((at) => v.setBigUint64(at, 2n ** 53n - 1n, true)) },
    { change: (v) => v.setUint32(80, 0x7fff_ffff, true) },
    { layout: 'level-zero-opaque', change: (v) => v.setBigUint64(HANDLE_AT + 22, v.getBigUint64(HANDLE_AT, true), true) },
    { layout: 'level-zero-opaque', change: (v) => v.setBigUint64(HANDLE_AT + 8, 0xf_ffffn, true) },
    { layout: 'level-zero-opaque', change: (v) => v.setUint8(HANDLE_AT + 62, 1) },
    { layout: 'level-zero-classic', change: (v) => v.setUint8(HANDLE_AT + 16, 15) },
    { layout: 'cuda-vmm', change: (v) => v.setBigUint64(HANDLE_AT, 2n ** 53n - 1n, true) },
    { layout: 'cuda-vmm', change: (v) => v.setUint32(HANDLE_AT + 8, 0x7fff_ffff, true) },
  ]
  for (const v of valid) t.is(answer({ rule: '', verdict: 'ok', at: 0, ...v }).verdict, 'ok', String(v.change))
})

test('what no rule forbids is sealed: lengths and numbers at their limits', (t) => {
  const array = (shape: number[], strides?: number[]): ArrayMetadata => ({ code: 6, bits: 1, lanes: 1, shape, ...(strides && { strides }) })
  const limits: Omit<EnvelopeSections, 'handle'>[] = [
    { array: array([]) }, { array: array(Array.from({ length: 32 }, () => 1)) }, { array: array([8 * NBYTES]) }, { array: array([0]) },
    { array: array([2, 1], [8 * NBYTES - 1, 2 ** 53 - 1]) }, { array: array([2 ** 53 - 1, 0], [1, 0]) }, { array: array([2 ** 53 - 1], [0]) },
    { array: { code: 0, bits: 255, lanes: 1, shape: [Math.floor((8 * NBYTES) / 255)] } },
    { name: 'a' }, { name: 'a'.repeat(255) }, { name: ' ~' },
    { name: '\u00a0\u00bf\u07ff\u0800\u0fff\ud7ff\ue000\uffff\u{10000}\u{3ffff}\u{10ffff}' },
    { unknown: [{ type: 65535, critical: false, bytes: new Uint8Array(8) }] }, { unknown: [{ type: 6, critical: false, bytes: new Uint8Array(0) }] },
    { further: [{ role: 0xffff_ffff, bytes: new Uint8Array(1) }, { role: 2, bytes: new Uint8Array(1) }, { role: 2, bytes: new Uint8Array(64) }] },
    { further: [{ role: 2, bytes: new Uint8Array(1) }, { role: FURTHER_ROLES.event, bytes: new Uint8Array(64) }] },
    { descriptors: Array.from({ length: 16 }, () => ({ kind: 'opaque', stDev: 0n, stIno: 0n })) }, { descriptors: [{ kind: 'dma-buf', stDev: 1n, stIno: 0n }] },
  ]
  for (const sections of limits) t.notThrows(() => seal(baseHeader('cuda'), { handle: baseHandle('cuda'), ...sections }), inspect(sections))
})

test('raw handles break the same rules, but for those that compare with an envelope', (t) => {
  for (const c of handles) {
    const layout = c.layout!
    const length = baseHandle(layout).length
    const broken = base(layout).slice()
    c.change!(new DataView(broken.buffer), broken)
    const raw = broken.slice(HANDLE_AT, HANDLE_AT + (c.rule === 'V1' ? length - 1 : length))
    const { verdict, at } = askHandle(LAYOUTS[layout], raw)
    if (WITH_ENVELOPE_ONLY.has(c.rule)) t.is(verdict, withoutEnvelope(c.rule, layout), `${c.rule} ${layout}`)
    else t.deepEqual({ verdict, at }, { verdict: c.verdict, at: c.at - HANDLE_AT }, `${c.rule} ${layout}`)
  }
})

/** What is left of a disagreement with the envelope: SYCL's handles repeat some of what UMF's head says. */
function withoutEnvelope(rule: string, layout: LayoutName): VerdictName {
  if (rule === 'U6' && layout !== 'sycl-umf-cuda') return 'handle-pids-differ'
  return rule === 'U7' && layout === 'sycl-umf-level-zero-v2' ? 'handle-sizes-differ' : 'ok'
}

test('raw handles: layouts and lengths', (t) => {
  for (const layout of [-1, 0, 12, 255, 0x7fff_ffff]) {
    t.deepEqual(askHandle(layout, new Uint8Array(64)), { verdict: 'unknown-layout', at: 0 })
  }
  for (const layout of LAYOUT_NAMES) {
    const right = baseHandle(layout).length
    for (let length = 0; length <= 200; length++) {
      if (length === right) continue
      t.deepEqual(askHandle(LAYOUTS[layout], new Uint8Array(length)), { verdict: 'bad-handle-length', at: 0 })
    }
  }
})

test('every verdict about bytes and policies has a case, or is tested elsewhere', (t) => {
  const covered = new Set<string>(cases.map((c) => c.verdict))
  t.deepEqual(VERDICTS.filter((v) => v !== 'ok' && !covered.has(v) && !ELSEWHERE.has(v)), [])
  t.deepEqual([...ELSEWHERE].filter((v) => covered.has(v) || !(VERDICTS as readonly string[]).includes(v)), [])
})

test('the document has exactly the rules that are tested, with their verdicts', (t) => {
  const distinct = (pairs: string[]): string[] => [...new Set(pairs)].sort()
  t.deepEqual(distinct(RULES.map((r) => `${r.id} ${r.verdict}`)), distinct(cases.map((c) => `${c.rule} ${c.verdict}`)))
})

// Where an envelope breaks two rules, the verdict is of the one that comes first in the document: phases, sections in
// turn, in a section its own rules before those of its type.
test('rules are checked in the order of the document', (t) => {
  const place = (c: Case): number[] => {
    const phase = 'OHSFDANVMUWXCQTKYEP'.indexOf(c.rule[0]!)
    const inSections = phase >= 2 && phase <= 16
    const body = c.rule[0] !== 'S'
    return [inSections ? 2 : phase, c.section ?? 0, inSections && (body || c.rule === 'S8') ? 1 : 0, RULES.findIndex((r) => r.id === c.rule)]
  }
  const before = (a: Case, b: Case): boolean => {
    const [x, y] = [place(a), place(b)]
    const i = x.findIndex((value, k) => value !== y[k])
    return i >= 0 && x[i]! < y[i]!
  }
  let pairs = 0
  const faults: string[] = []
  for (const first of cases) {
    for (const second of cases) {
      if (!before(first, second) || first.alone || second.alone || (first.layout ?? 'host') !== (second.layout ?? 'host')) continue
      pairs++
      const got = answer(second, first)
      if (got.verdict === first.verdict && got.at === first.at) continue
      faults.push(`${first.rule} ${first.change} + ${second.rule} ${second.change}: ${got.verdict} at ${got.at}`)
    }
  }
  t.deepEqual(faults.slice(0, 20), [])
  t.true(pairs > 3000, `${pairs} pairs`)
})
