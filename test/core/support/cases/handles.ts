import { HEADER, LAYOUTS, type LayoutName } from '../../../../host/core/index.ts'
import { HANDLE_AT, PID, SIZE, baseHandle } from '../base.ts'
import { both, u32, u64, u8, type Case } from './case.ts'

type Row = [rule: string, verdict: Case['verdict'], at: number, change: (v: DataView) => void]

/** Cases whose offsets count from the handle's first byte, `start` bytes into the handle. */
function rows(layout: LayoutName, start: number, list: Row[]): Case[] {
  return list.map(([rule, verdict, at, change]) => ({
    rule, verdict, layout, section: 1, at: HANDLE_AT + start + at,
    change: (v) => change(new DataView(v.buffer, HANDLE_AT + start)),
  }))
}

const minus = (n: number): number => 2 ** 32 - n

const umf: Row[] = [
  ['U1', 'handle-bad-pid', 16, u32(16, 0)],
  ['U1', 'handle-bad-pid', 16, u32(16, minus(1))],
  ['U2', 'handle-padding', 20, u8(23, 1)],
  ['U3', 'handle-zero-size', 24, u64(24, 0n)],
  ['U4', 'size-too-large', 24, u64(24, 2n ** 53n)],
  ['U5', 'handle-offset-outside', 32, u64(32, BigInt(SIZE))],
  ['U5', 'handle-offset-outside', 32, u64(32, 2n ** 64n - 1n)],
  ['U6', 'handle-disagrees', 16, u32(16, PID + 1)],
  ['U7', 'handle-disagrees', 24, u64(24, BigInt(SIZE - 1))],
  ['U8', 'handle-disagrees', 32, u64(32, 0n)],
]

const classic: Row[] = [
  ['C1', 'handle-negative-fd', 0, u32(0, minus(1))],
  ['C2', 'handle-padding', 4, u8(7, 1)],
  ['C3', 'handle-offset-outside', 8, u64(8, BigInt(SIZE))],
  ['C4', 'handle-unknown-type', 16, u8(16, 16)],
  ['C5', 'handle-padding', 17, u8(17, 1)],
  ['C5', 'handle-padding', 17, u8(63, 1)],
]

const opaque: Row[] = [
  ['Q1', 'handle-negative-fd', 0, u32(0, minus(7))],
  ['Q2', 'handle-padding', 4, u8(4, 1)],
  ['Q3', 'handle-bad-pid', 16, both(u32(16, 0), u8(21, 1))],
  ['Q3', 'handle-bad-pid', 16, u32(16, 0x8000_0000)],
  ['Q4', 'handle-unknown-type', 20, u8(20, 2)],
  ['Q5', 'handle-unknown-type', 21, u8(21, 16)],
  ['Q6', 'handle-mirror-differs', 22, u8(22, 9)],
  ['Q7', 'handle-unknown-type', 62, u8(62, 2)],
  ['Q8', 'handle-padding', 63, u8(63, 1)],
  ['Q9', 'handle-offset-outside', 8, u64(8, BigInt(SIZE))],
  ['Q10', 'handle-disagrees', 16, u32(16, PID + 1)],
]

export const handles: Case[] = [
  ...(Object.keys(LAYOUTS) as LayoutName[]).map((layout): Case => ({
    rule: 'V1', verdict: 'bad-handle-length', at: HANDLE_AT, layout, section: 1,
    change: (v, b) => {
      // The last 8 bytes become the padding of a handle that is one byte shorter.
      const length = baseHandle(layout).length
      v.setUint32(HANDLE_AT - 4, length - 1, true)
      b[HANDLE_AT + length - 1] = 0
    },
  })),
  ...rows('host', 0, [
    ['M1', 'handle-no-identity', 8, u64(8, 0n)],
    ['M2', 'handle-zero-size', 16, u64(16, 0n)],
    ['M3', 'size-too-large', 16, u64(16, 2n ** 53n)],
    ['M4', 'handle-negative-fd', 24, u32(24, minus(1))],
    ['M5', 'handle-padding', 28, u32(28, 2)],
    ['M5', 'handle-padding', 28, u32(28, 0x100)],
    ['M6', 'handle-disagrees', 16, u64(16, BigInt(SIZE - 1))],
  ]),
  ...(['sycl-umf-level-zero-v2', 'sycl-umf-level-zero-v1', 'sycl-umf-cuda'] as const).flatMap((layout) => rows(layout, 0, umf)),
  ...rows('sycl-umf-level-zero-v2', 0, [
    ['W1', 'handle-pids-differ', 40, u32(40, PID - 1)],
    ['W2', 'handle-padding', 44, u8(44, 1)],
    ['W3', 'handle-sizes-differ', 48, u64(48, BigInt(SIZE - 1))],
  ]),
  ...rows('sycl-umf-level-zero-v2', 56, opaque),
  ...rows('sycl-umf-level-zero-v1', 0, [['X1', 'handle-pids-differ', 40, u32(40, PID + 1)]]),
  ...rows('sycl-umf-level-zero-v1', 44, opaque),
  // The classic form inside a SYCL handle: no type from 16 on and no byte behind it is classic, so only these.
  ...rows('sycl-umf-level-zero-v2', 56, classic.slice(0, 3).map(([rule, verdict, at, change]) => [rule, verdict, at, both(u32(16, 1), change)]))
    .map((c) => ({ ...c, alone: true })),
  ...rows('sycl-umf-level-zero-v2', 56, [['Q8', 'handle-padding', 63, both(u32(16, 1), u8(63, 1))]]).map((c) => ({ ...c, alone: true })),
  ...rows('level-zero-classic', 0, classic),
  ...rows('level-zero-opaque', 0, opaque),
  ...rows('torch-cuda', 0, [
    ['T1', 'handle-unknown-version', 0, u8(0, 1)],
    ['T2', 'handle-unknown-type', 1, u8(1, 0x78)],
  ]),
  ...rows('cuda-vmm', 0, [
    ['K1', 'handle-zero-size', 0, u64(0, 0n)],
    ['K2', 'size-too-large', 0, u64(0, 2n ** 53n)],
    ['K2', 'size-too-large', 0, u64(0, 2n ** 64n - 1n)],
    ['K3', 'handle-negative-fd', 8, u32(8, minus(1))],
    ['K4', 'handle-padding', 12, u8(12, 1)],
    ['K4', 'handle-padding', 12, u8(16, 0x80)],
    ['K4', 'handle-padding', 12, u8(31, 1)],
    ['K5', 'handle-disagrees', 0, u64(0, BigInt(SIZE - 1))],
  ]),
  ...[HEADER.allocation_size, HEADER.nbytes].map((at): Case => ({
    rule: 'Y1', verdict: 'handle-disagrees', layout: 'cuda-event', section: 1, at: HANDLE_AT, change: u64(at, at === HEADER.nbytes ? 63n : 65n),
  })),
]

/** Rules that a raw handle is free of: they compare it with the envelope around it. */
export const WITH_ENVELOPE_ONLY = new Set(['U2', 'W2', 'U6', 'U7', 'U8', 'M6', 'C3', 'Q9', 'Q10', 'K5', 'Y1'])
