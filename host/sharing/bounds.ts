/**
 * MessagePack from other processes, before it is decoded: every length must be there in bytes, and nothing is nested deeper
 * than is asked for. A decoder makes room for what an array says that it has; a few bytes could say billions.
 */

/** Whether `bytes` is one whole MessagePack value of at most `levels` levels of arrays and maps, without extension types. */
export function isBounded(bytes: Uint8Array, levels: number): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // Values that are still to come, by level.
  const left = [1]
  let at = 0
  while (left.length > 0) {
    if (left[left.length - 1] === 0) {
      left.pop()
      continue
    }
    left[left.length - 1]! -= 1
    if (at >= bytes.length) return false
    const head = bytes[at++]!
    const { size, items, lengthBytes } = shapeOf(head)
    if (size < 0 || at + lengthBytes > bytes.length) return false
    const length = lengthBytes === 0 ? 1 : lengthBytes === 1 ? view.getUint8(at) : lengthBytes === 2 ? view.getUint16(at) : view.getUint32(at)
    at += lengthBytes
    if (items > 0) {
      const values = items * length
      if (values > bytes.length - at || left.length > levels) return false
      left.push(values)
    } else {
      at += size * length
      if (at > bytes.length) return false
    }
  }
  return at === bytes.length
}

interface Shape {
  /** Bytes for each of the length, where it has no values in it; negative: not allowed. */
  size: number
  /** Values for each of the length. */
  items: number
  /** Bytes that say the length; none: it is 1. */
  lengthBytes: 0 | 1 | 2 | 4
}

const bytesOf = (size: number, lengthBytes: Shape['lengthBytes'] = 0): Shape => ({ size, items: 0, lengthBytes })
const valuesOf = (items: number, lengthBytes: Shape['lengthBytes'] = 0): Shape => ({ size: 0, items, lengthBytes })

// https://github.com/msgpack/msgpack/blob/master/spec.md: the first byte of every format.
const SHAPES: readonly Shape[] = Array.from({ length: 256 }, (_, head) => {
  if (head < 0x80 || head >= 0xe0) return bytesOf(0) // small integers
  if (head < 0x90) return valuesOf(2 * (head & 15))
  if (head < 0xa0) return valuesOf(head & 15)
  if (head < 0xc0) return bytesOf(head & 31)
  switch (head) {
    case 0xc0: case 0xc2: case 0xc3: return bytesOf(0)
    case 0xc4: case 0xd9: return bytesOf(1, 1)
    case 0xc5: case 0xda: return bytesOf(1, 2)
    case 0xc6: case 0xdb: return bytesOf(1, 4)
    case 0xcc: case 0xd0: return bytesOf(1)
    case 0xcd: case 0xd1: return bytesOf(2)
    case 0xca: case 0xce: case 0xd2: return bytesOf(4)
    case 0xcb: case 0xcf: case 0xd3: return bytesOf(8)
    case 0xdc: return valuesOf(1, 2)
    case 0xdd: return valuesOf(1, 4)
    case 0xde: return valuesOf(2, 2)
    case 0xdf: return valuesOf(2, 4)
    default: return bytesOf(-1) // unused, and extension types
  }
})

function shapeOf(head: number): Shape {
  return SHAPES[head]!
}
