import { BACKENDS, KINDS, type EnvelopeKey } from '../../../../host/core/index.ts'
import { KEY_RECORD, MAX_KEYS, keyRecord } from '../../../../host/keys.ts'
import { CREATED, EXPIRES, KEY, NBYTES, base } from '../base.ts'
import { authenticated, view } from '../forge.ts'
import { flip, type Case } from './case.ts'

const FLAG = { now: 1, kind: 2, backend: 4, device: 8, nbytes: 16, requireAuthentication: 32 } as const

type Block = (block: DataView) => void

function expect(flag: keyof typeof FLAG, fill: Block = () => {}): Block {
  return (block) => {
    block.setUint32(0, block.getUint32(0, true) | FLAG[flag], true)
    fill(block)
  }
}
const now = (value: number, skew = 0): Block => expect('now', (b) => {
  b.setBigUint64(8, BigInt(value), true)
  b.setBigUint64(40, BigInt(skew), true)
})

const length = base('host').length
const tagged = (bytes: Uint8Array): Uint8Array => authenticated(bytes, KEY)

/** Records as they stand, wrong or not. */
function records(...keys: EnvelopeKey[]): Uint8Array {
  return Uint8Array.from(keys.flatMap((key) => [...keyRecord(key, 'key')]))
}

function badKeys(): Uint8Array[] {
  const broken = (change: (v: DataView) => void): Uint8Array => {
    const bytes = records({ id: 1, key: KEY.key }, KEY)
    change(view(bytes))
    return bytes
  }
  return [
    broken((v) => v.setUint32(0, 0, true)), broken((v) => v.setUint32(KEY_RECORD, 0, true)),
    ...[0, 15, 65, 72, 0x8000_0000, 0xffff_ffff].map((n) => broken((v) => v.setUint32(KEY_RECORD + 4, n, true))),
    broken((v) => v.setUint8(8 + 32, 1)), broken((v) => v.setUint8(KEY_RECORD - 1, 1)), broken((v) => v.setUint32(4, 31, true)),
    broken((v) => v.setUint32(0, KEY.id, true)),
    records(...Array.from({ length: MAX_KEYS + 1 }, (_, i) => ({ id: i + 1, key: KEY.key }))),
  ]
}

export const policy: Case[] = [
  { rule: 'P1', verdict: 'bad-policy', at: 0, policy: (b) => b.setUint32(0, b.getUint32(0, true) | 64, true) },
  { rule: 'P1', verdict: 'bad-policy', at: 0, policy: (b) => b.setUint32(0, b.getUint32(0, true) | 0x8000_0000, true) },
  { rule: 'P1', verdict: 'bad-policy', at: 0, policy: (b) => b.setUint16(6, 1, true) },
  { rule: 'P1', verdict: 'bad-policy', at: 0, alone: true, policy: (b) => b.setUint32(48, 65536, true) },
  { rule: 'P1', verdict: 'bad-policy', at: 0, policy: (b) => b.setUint8(56, 1) },
  { rule: 'P1', verdict: 'bad-policy', at: 0, policy: (b) => b.setUint8(63, 1) },
  ...badKeys().map((keys): Case => ({ rule: 'P1', verdict: 'bad-policy', at: 0, keys })),
  { rule: 'P2', verdict: 'unauthenticated', at: 10, policy: expect('requireAuthentication') },
  { rule: 'P2', verdict: 'unauthenticated', at: 10, keys: records(KEY) },
  { rule: 'P3', verdict: 'unknown-key', at: 84, alone: true, policy: expect('requireAuthentication'), after: tagged },
  { rule: 'P3', verdict: 'unknown-key', at: 84, alone: true, keys: records({ ...KEY, id: KEY.id + 1 }), after: tagged },
  { rule: 'P4', verdict: 'bad-tag', at: length, alone: true, keys: records({ id: KEY.id, key: KEY.key.with(31, 0) }), after: tagged },
  { rule: 'P4', verdict: 'bad-tag', at: length, alone: true, keys: records(KEY), after: (b) => flip((t) => t.length - 1)(tagged(b)) },
  { rule: 'P5', verdict: 'wrong-kind', at: 16, policy: expect('kind', (b) => b.setUint8(4, KINDS.event)) },
  { rule: 'P5', verdict: 'wrong-kind', at: 16, policy: expect('kind') },
  { rule: 'P6', verdict: 'wrong-backend', at: 17, policy: expect('backend', (b) => b.setUint8(5, BACKENDS.cuda)) },
  { rule: 'P7', verdict: 'wrong-device', at: 24, policy: expect('device') },
  ...[24, 31, 32, 39].map((at): Case => ({
    rule: 'P7', verdict: 'wrong-device', at: 24,
    policy: expect('device', (b) => {
      for (let i = 24; i < 40; i++) b.setUint8(i, 0x11)
      b.setUint8(at, 0x10)
    }),
  })),
  { rule: 'P8', verdict: 'expired', at: 128, policy: now(EXPIRES) },
  { rule: 'P8', verdict: 'expired', at: 128, policy: now(Number.MAX_SAFE_INTEGER) },
  { rule: 'P9', verdict: 'not-yet-valid', at: 120, policy: now(CREATED - 1) },
  { rule: 'P9', verdict: 'not-yet-valid', at: 120, policy: now(CREATED - 1001, 1000) },
  { rule: 'P10', verdict: 'nbytes-beyond-range', at: 56, policy: expect('nbytes', (b) => b.setBigUint64(16, BigInt(NBYTES + 1), true)) },
  { rule: 'P10', verdict: 'nbytes-beyond-range', at: 56, policy: expect('nbytes', (b) => b.setBigUint64(16, 0n, true)) },
]

/** Policies that the base envelope satisfies, at their limits. */
export const satisfied: Block[] = [
  () => {},
  now(CREATED), now(EXPIRES - 1), now(CREATED - 1000, 1000),
  expect('kind', (b) => b.setUint8(4, KINDS.memory)),
  expect('backend', (b) => b.setUint8(5, BACKENDS.host)),
  expect('device', (b) => {
    for (let i = 24; i < 40; i++) b.setUint8(i, 0x11)
  }),
  expect('nbytes', (b) => b.setBigUint64(16, 1n, true)),
  expect('nbytes', (b) => b.setBigUint64(16, BigInt(NBYTES), true)),
  // What no flag asks for is not looked at.
  (b) => {
    b.setUint8(4, 99)
    b.setUint8(5, 99)
    b.setBigUint64(8, 1n, true)
    b.setBigUint64(16, 0n, true)
  },
]
