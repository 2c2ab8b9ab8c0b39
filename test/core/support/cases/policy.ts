import { BACKENDS, KINDS } from '../../../../host/core/index.ts'
import { CREATED, EXPIRES, NBYTES } from '../base.ts'
import type { Case } from './case.ts'

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

export const policy: Case[] = [
  { rule: 'P1', verdict: 'bad-policy', at: 0, policy: (b) => b.setUint32(0, b.getUint32(0, true) | 64, true) },
  { rule: 'P1', verdict: 'bad-policy', at: 0, policy: (b) => b.setUint32(0, b.getUint32(0, true) | 0x8000_0000, true) },
  { rule: 'P1', verdict: 'bad-policy', at: 0, policy: (b) => b.setUint16(6, 1, true) },
  { rule: 'P1', verdict: 'bad-policy', at: 0, policy: (b) => b.setUint8(48, 1) },
  { rule: 'P1', verdict: 'bad-policy', at: 0, policy: (b) => b.setUint8(63, 1) },
  { rule: 'P2', verdict: 'wrong-kind', at: 16, policy: expect('kind', (b) => b.setUint8(4, KINDS.event)) },
  { rule: 'P2', verdict: 'wrong-kind', at: 16, policy: expect('kind') },
  { rule: 'P3', verdict: 'wrong-backend', at: 17, policy: expect('backend', (b) => b.setUint8(5, BACKENDS.cuda)) },
  { rule: 'P4', verdict: 'wrong-device', at: 24, policy: expect('device') },
  ...[24, 31, 32, 39].map((at): Case => ({
    rule: 'P4', verdict: 'wrong-device', at: 24,
    policy: expect('device', (b) => {
      for (let i = 24; i < 40; i++) b.setUint8(i, 0x11)
      b.setUint8(at, 0x10)
    }),
  })),
  { rule: 'P5', verdict: 'expired', at: 128, policy: now(EXPIRES) },
  { rule: 'P5', verdict: 'expired', at: 128, policy: now(Number.MAX_SAFE_INTEGER) },
  { rule: 'P6', verdict: 'not-yet-valid', at: 120, policy: now(CREATED - 1) },
  { rule: 'P6', verdict: 'not-yet-valid', at: 120, policy: now(CREATED - 1001, 1000) },
  { rule: 'P7', verdict: 'nbytes-beyond-range', at: 56, policy: expect('nbytes', (b) => b.setBigUint64(16, BigInt(NBYTES + 1), true)) },
  { rule: 'P7', verdict: 'nbytes-beyond-range', at: 56, policy: expect('nbytes', (b) => b.setBigUint64(16, 0n, true)) },
  { rule: 'P8', verdict: 'unauthenticated', at: 10, policy: expect('requireAuthentication') },
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
