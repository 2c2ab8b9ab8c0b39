import { Core, VERDICTS, type LayoutName, type VerdictName } from '../../../../host/core/index.ts'
import { KEY_RECORD } from '../../../../host/keys.ts'
import { base } from '../base.ts'
import { fixAll, view } from '../forge.ts'

/** One way to break one rule of docs/wire-format.md. */
export interface Case {
  /** The rule's number there. */
  rule: string
  verdict: VerdictName
  /** The byte that the verdict names. */
  at: number
  /** The envelope that is broken; `host` where it is left out. */
  layout?: LayoutName
  /** The type of the section that is broken. */
  section?: number
  /** Breaks the rule in place, or gives other bytes; check bytes and checksum are put right afterwards. */
  change?: (v: DataView, bytes: Uint8Array) => void | Uint8Array
  /** Breaks what was put right. */
  after?: (bytes: Uint8Array) => Uint8Array
  /** Fills the policy block in. */
  policy?: (block: DataView) => void
  /** Key records that go with it. */
  keys?: Uint8Array
  /** Not to be put together with others: it leaves no room for them. */
  alone?: boolean
}

const core = new Core()

export interface Answer {
  verdict: VerdictName
  at: number
}

/** The core's answer where all these cases break one envelope, the last one on top. */
export function answer(...cases: Case[]): Answer {
  let bytes: Uint8Array = base(cases[0]!.layout ?? 'host').slice()
  for (const c of cases) bytes = c.change?.(view(bytes), bytes) ?? bytes
  if (bytes.length >= 156) fixAll(bytes)
  for (const c of cases) bytes = c.after?.(bytes) ?? bytes
  const block = new Uint8Array(64)
  for (const c of cases) c.policy?.(view(block))
  const keys = cases.findLast((c) => c.keys)?.keys
  return ask(bytes, cases.some((c) => c.policy ?? c.keys) ? block : undefined, keys)
}

// What lies behind the bytes must not matter.
function place(bytes: Uint8Array): void {
  core.u8.set(bytes, core.inputAt)
  core.u8.fill(0xff, core.inputAt + bytes.length, core.inputAt + bytes.length + 512)
}

export function ask(bytes: Uint8Array, policy?: Uint8Array, keys?: Uint8Array): Answer {
  place(bytes)
  if (policy) core.u8.set(policy, core.policyAt)
  if (keys) {
    core.u8.set(keys, core.keysAt)
    const block = new DataView(core.u8.buffer, core.policyAt)
    block.setUint32(48, core.keysAt, true)
    block.setUint32(52, keys.length / KEY_RECORD, true)
  }
  const code = core.exports.validate(core.inputAt, bytes.length, policy ? core.policyAt : 0)
  return { verdict: VERDICTS[code]!, at: core.exports.failureAddress() - core.inputAt }
}

export function askHandle(layout: number, bytes: Uint8Array): Answer {
  place(bytes)
  const code = core.exports.validateHandle(layout, core.inputAt, bytes.length)
  return { verdict: VERDICTS[code]!, at: core.exports.failureAddress() - core.inputAt }
}

// The changes that most cases are made of.

type Change = (v: DataView) => void

export const u8 = (at: number, value: number): Change => (v) => v.setUint8(at, value)
export const u16 = (at: number, value: number): Change => (v) => v.setUint16(at, value, true)
export const u32 = (at: number, value: number): Change => (v) => v.setUint32(at, value, true)
export const u64 = (at: number, value: bigint): Change => (v) => v.setBigUint64(at, value, true)
export const both = (...changes: Change[]): Change => (v) => changes.forEach((change) => change(v))
export const cut = (length: number) => (bytes: Uint8Array): Uint8Array => bytes.slice(0, length)
export const flip = (at: (bytes: Uint8Array) => number) => (bytes: Uint8Array): Uint8Array => {
  const copy = bytes.slice()
  copy[at(bytes)]! ^= 1
  return copy
}
