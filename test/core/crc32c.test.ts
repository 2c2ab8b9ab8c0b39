import test from 'ava'
import fc from 'fast-check'
import { Core, fromHex } from '../../host/core/index.ts'
import { crc32c as reference } from './support/crc32c.ts'

const { exports: core } = new Core()
const IO = core.ioAddress()
const SIZE = core.ioSize()

function crc(bytes: Uint8Array, at = IO): number {
  new Uint8Array(core.memory.buffer).set(bytes, at)
  return core.crc32c(at, bytes.length) >>> 0
}

// RFC 3720 B.4 lists the CRC's bytes in the order of transmission: little-endian here.
const RFC3720: [string, string, Uint8Array][] = [
  ['32 bytes of zeroes', 'aa36918a', new Uint8Array(32)],
  ['32 bytes of ones', '43aba862', new Uint8Array(32).fill(0xff)],
  ['32 bytes of incrementing 00..1f', '4e79dd46', Uint8Array.from({ length: 32 }, (_, i) => i)],
  ['32 bytes of decrementing 1f..00', '5cdb3f11', Uint8Array.from({ length: 32 }, (_, i) => 31 - i)],
  ['an iSCSI SCSI Read (10) command PDU', '563a96d9', fromHex(
    '01c00000' + '00000000' + '00000000' + '00000000' + '14000000' + '00000400' +
    '00000014' + '00000018' + '28000000' + '00000000' + '02000000' + '00000000')!],
]

for (const [title, transmitted, bytes] of RFC3720) {
  test(`RFC 3720 B.4: ${title}`, (t) => {
    t.is(crc(bytes), new DataView(fromHex(transmitted)!.buffer).getUint32(0, true))
  })
}

test('the check value of the CRC catalogue', (t) => {
  t.is(crc(new TextEncoder().encode('123456789')), 0xe3069283)
})

test('every length from 0 to 64, at every alignment, is what the definition gives', (t) => {
  const bytes = Uint8Array.from({ length: 64 }, (_, i) => (i * 167 + 13) & 0xff)
  for (let length = 0; length <= 64; length++) {
    for (let shift = 0; shift < 16; shift++) {
      t.is(crc(bytes.subarray(0, length), IO + shift), reference(bytes.subarray(0, length)), `${length} bytes at ${shift}`)
    }
  }
})

test('any bytes of any length', (t) => {
  t.notThrows(() => fc.assert(fc.property(fc.uint8Array({ maxLength: 3000 }), (bytes) => crc(bytes) === reference(bytes))))
})

test('the whole I/O region', (t) => {
  const bytes = Uint8Array.from({ length: SIZE }, (_, i) => (i * 2654435761) >>> 24)
  t.is(crc(bytes), reference(bytes))
})
