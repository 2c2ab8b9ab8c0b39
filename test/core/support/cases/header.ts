import { BACKENDS, HEADER, KINDS, LAYOUTS } from '../../../../host/core/index.ts'
import { CREATED, KEY, NBYTES, OFFSET, SIZE } from '../base.ts'
import { authenticated, fixCrc } from '../forge.ts'
import { both, flip, u16, u32, u64, u8, type Case } from './case.ts'

const H = HEADER
const MAX = 2n ** 53n - 1n

export const header: Case[] = [
  { rule: 'H1', verdict: 'bad-check-byte', at: 22, after: (b) => fixCrc(flip(() => H.header_check)(b)) },
  { rule: 'H1', verdict: 'bad-check-byte', at: 22, after: (b) => fixCrc(flip(() => H.backend)(b)) },
  { rule: 'H2', verdict: 'unknown-flags', at: 10, change: u16(H.flags, 2) },
  { rule: 'H2', verdict: 'unknown-flags', at: 10, change: u16(H.flags, 0x8000) },
  { rule: 'H3', verdict: 'reserved-not-zero', at: 23, change: u8(H.reserved, 1) },
  { rule: 'H4', verdict: 'unknown-kind', at: 16, change: u8(H.kind, 0) },
  { rule: 'H4', verdict: 'unknown-kind', at: 16, change: u8(H.kind, 5) },
  { rule: 'H5', verdict: 'unknown-backend', at: 17, change: u8(H.backend, 0) },
  { rule: 'H5', verdict: 'unknown-backend', at: 17, change: u8(H.backend, 5) },
  { rule: 'H6', verdict: 'unknown-layout', at: 18, change: u16(H.layout, 0) },
  { rule: 'H6', verdict: 'unknown-layout', at: 18, change: u16(H.layout, 12) },
  { rule: 'H6', verdict: 'unknown-layout', at: 18, change: u16(H.layout, 257) },
  { rule: 'H7', verdict: 'layout-mismatch', at: 18, change: u16(H.layout, LAYOUTS.cuda) },
  { rule: 'H7', verdict: 'layout-mismatch', at: 18, change: u8(H.backend, BACKENDS.sycl) },
  { rule: 'H7', verdict: 'layout-mismatch', at: 18, layout: 'cuda', change: u16(H.layout, LAYOUTS['cuda-event']) },
  { rule: 'H7', verdict: 'layout-mismatch', at: 18, layout: 'cuda', change: u8(H.kind, KINDS.event) },
  { rule: 'H7', verdict: 'layout-mismatch', at: 18, layout: 'cuda-event', change: u8(H.kind, KINDS.memory) },
  ...[KINDS['physical-memory'], KINDS.event, KINDS['remote-memory']].map((kind): Case => ({
    rule: 'H7', verdict: 'layout-mismatch', at: 18, change: u8(H.kind, kind),
  })),
  { rule: 'H8', verdict: 'zero-nbytes', at: 56, change: u64(H.nbytes, 0n) },
  { rule: 'H9', verdict: 'range-overflow', at: 48, change: u64(H.offset, 2n ** 64n - BigInt(NBYTES)) },
  { rule: 'H10', verdict: 'size-too-large', at: 40, change: u64(H.allocation_size, MAX + 1n) },
  { rule: 'H10', verdict: 'size-too-large', at: 40, change: u64(H.offset, MAX + 1n) },
  { rule: 'H10', verdict: 'size-too-large', at: 40, change: u64(H.nbytes, 2n ** 63n) },
  { rule: 'H11', verdict: 'range-outside-allocation', at: 48, change: u64(H.nbytes, BigInt(SIZE - OFFSET + 1)) },
  { rule: 'H11', verdict: 'range-outside-allocation', at: 48, change: both(u64(H.offset, MAX), u64(H.nbytes, MAX), u64(H.allocation_size, MAX)) },
  { rule: 'H12', verdict: 'bad-allocation-id', at: 64, change: u64(H.allocation_random, 0n) },
  { rule: 'H13', verdict: 'bad-allocation-id', at: 72, change: u64(H.allocation_counter, 0n) },
  { rule: 'H14', verdict: 'bad-pid', at: 80, change: u32(H.pid, 0) },
  { rule: 'H14', verdict: 'bad-pid', at: 80, change: u32(H.pid, 0x8000_0000) },
  { rule: 'H15', verdict: 'key-without-authentication', at: 84, change: u32(H.key_id, 1) },
  { rule: 'H16', verdict: 'authentication-without-key', at: 84, alone: true, after: (b) => authenticated(b, { id: 0, key: KEY.key }) },
  { rule: 'H17', verdict: 'bad-lifetime', at: 120, change: u64(H.created, MAX + 1n) },
  { rule: 'H18', verdict: 'bad-lifetime', at: 128, change: u64(H.expires, BigInt(CREATED - 1)) },
  { rule: 'H18', verdict: 'bad-lifetime', at: 128, change: u64(H.expires, MAX + 1n) },
]
