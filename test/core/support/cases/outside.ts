import { HEADER } from '../../../../host/core/index.ts'
import { KEY, base } from '../base.ts'
import { authenticated, fixCrc, view } from '../forge.ts'
import { cut, flip, u16, u32, u8, both, type Case } from './case.ts'

const length = base('host').length
const total = (bytes: Uint8Array, value: number): Uint8Array => {
  view(bytes).setUint32(HEADER.total_length, value, true)
  return bytes
}

export const outside: Case[] = [
  { rule: 'O1', verdict: 'empty', at: 0, after: cut(0) },
  { rule: 'O2', verdict: 'not-an-envelope', at: 0, change: u8(0, 0x75) },
  { rule: 'O2', verdict: 'not-an-envelope', at: 5, alone: true, change: u8(5, 0x44) },
  { rule: 'O2', verdict: 'not-an-envelope', at: 2, alone: true, change: u8(2, 0), after: cut(3) },
  { rule: 'O3', verdict: 'truncated', at: 1, after: cut(1) },
  { rule: 'O3', verdict: 'truncated', at: 6, after: cut(6) },
  { rule: 'O4', verdict: 'unsupported-version', at: 6, change: u8(6, 1) },
  { rule: 'O4', verdict: 'unsupported-version', at: 6, change: u8(6, 255), after: cut(7) },
  { rule: 'O5', verdict: 'truncated', at: 7, after: cut(7) },
  { rule: 'O5', verdict: 'truncated', at: 151, after: cut(151) },
  { rule: 'O6', verdict: 'bad-header-length', at: 8, change: u16(HEADER.header_length, 160) },
  { rule: 'O6', verdict: 'bad-header-length', at: 8, change: u16(HEADER.header_length, 144) },
  { rule: 'O6', verdict: 'bad-header-length', at: 8, change: both(u8(HEADER.minor, 1), u16(HEADER.header_length, 144)) },
  { rule: 'O6', verdict: 'bad-header-length', at: 8, change: both(u8(HEADER.minor, 1), u16(HEADER.header_length, 156)) },
  { rule: 'O7', verdict: 'too-long', at: 12, change: u32(HEADER.total_length, 16385) },
  { rule: 'O7', verdict: 'too-long', at: 12, change: u32(HEADER.total_length, 0xffff_ffff) },
  { rule: 'O8', verdict: 'bad-total-length', at: 12, change: u32(HEADER.total_length, length - 1) },
  { rule: 'O8', verdict: 'bad-total-length', at: 12, change: u32(HEADER.total_length, 148) },
  { rule: 'O8', verdict: 'bad-total-length', at: 12, change: u32(HEADER.total_length, 16384) },
  { rule: 'O8', verdict: 'bad-total-length', at: 12, change: u32(HEADER.total_length, 0) },
  { rule: 'O8', verdict: 'bad-total-length', at: 12, alone: true, change: both(u8(HEADER.minor, 1), u16(HEADER.header_length, length + 4)) },
  // Sections that end before the header does, where there is a tag.
  { rule: 'O8', verdict: 'bad-total-length', at: 12, alone: true, after: (b) => fixCrc(total(authenticated(b, KEY), 152 + 28)) },
  { rule: 'O9', verdict: 'truncated', at: length + 31, alone: true, after: (b) => authenticated(b, KEY).slice(0, -1) },
  { rule: 'O10', verdict: 'trailing-bytes', at: length + 32, alone: true, after: (b) => new Uint8Array([...authenticated(b, KEY), 0]) },
  { rule: 'O11', verdict: 'bad-checksum', at: length - 4, alone: true, after: (b) => flip(() => HEADER.nonce)(authenticated(b, KEY)) },
  // The flag alone, or taken away: the checksum is looked for where it is not.
  { rule: 'O11', verdict: 'bad-checksum', at: length - 36, alone: true, after: flip(() => HEADER.flags) },
  { rule: 'O11', verdict: 'bad-checksum', at: length + 28, alone: true, after: (b) => flip(() => HEADER.flags)(authenticated(b, KEY)) },
  { rule: 'O9', verdict: 'truncated', at: 152, after: cut(152) },
  { rule: 'O9', verdict: 'truncated', at: length - 1, after: cut(length - 1) },
  { rule: 'O10', verdict: 'trailing-bytes', at: length, after: (b) => new Uint8Array([...b, 0]) },
  { rule: 'O10', verdict: 'trailing-bytes', at: length, after: (b) => new Uint8Array([...b, ...new Uint8Array(16384)]) },
  { rule: 'O11', verdict: 'bad-checksum', at: length - 4, after: flip((b) => b.length - 1) },
  { rule: 'O11', verdict: 'bad-checksum', at: length - 4, after: flip(() => HEADER.nonce) },
]
