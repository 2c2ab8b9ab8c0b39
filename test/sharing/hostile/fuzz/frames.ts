/** Fuzzed frames: mutations of what importers say, on a fixed seed, and what the protocol makes of each. */
import { encode } from '@msgpack/msgpack'
import { decodeRequest } from '../../../../host/sharing/protocol.ts'

/** Numbers below `bound`, the same for the same seed. */
export type Random = (bound: number) => number

export function randomOf(seed: number, stream: number): Random {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(stream + 1, 0x85ebca6b)) >>> 0
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0
    let x = Math.imul(state ^ (state >>> 15), state | 1)
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61)
    return ((x ^ (x >>> 14)) >>> 0) % bound
  }
}

const ODD_NUMBERS = [0, 1, 2, 127, 128, 255, 256, 65535, 65536, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, 2 ** 53, -1, -32, -33, -(2 ** 31), 1.5, NaN, Infinity]
const ODD_BYTES = [0x00, 0x01, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x91, 0xa0, 0xbf, 0xc0, 0xc1, 0xc4, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcc, 0xcf, 0xd0, 0xd3, 0xd4, 0xd8, 0xd9, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xff]
const ODD_TEXTS = ['', 'weights', 'weight', 'a', '\u0000', 'a\nb', '\u001b[2J', '__proto__', 'constructor', 'é'.repeat(128), 'x'.repeat(255), 'x'.repeat(256), '\ud800', '\u{1f600}', '/../../etc']

const LISTED = ODD_TEXTS.filter((text) => text.length <= 255)

const pick = <T>(random: Random, from: readonly T[]): T => from[random(from.length)]!

function oddValue(random: Random, levels = 3): unknown {
  switch (random(levels === 0 ? 5 : 7)) {
    case 0:
      return pick(random, ODD_NUMBERS)
    case 1:
      return pick(random, ODD_TEXTS)
    case 2:
      return new Uint8Array(pick(random, [0, 1, 15, 16, 17, 300]))
    case 3:
      return pick(random, [null, true, false])
    case 4:
      return random(2 ** 32)
    case 5:
      return Array.from({ length: random(4) }, () => oddValue(random, levels - 1))
    default:
      return Object.fromEntries(Array.from({ length: random(3) }, () => [pick(random, ['t', 'id', 'name', 'leases', 'x']), oddValue(random, levels - 1)]))
  }
}

function message(random: Random, leases: readonly number[]): Record<string, unknown> {
  const id = pick(random, [0, 1, random(2 ** 32), 2 ** 32 - 1])
  // Most of it is right: a frame that ends its connection keeps those behind it from being seen.
  const kind = random(64)
  if (kind === 0) return { t: 'hello', versions: [1] }
  if (kind === 1) return { t: 'release', leases: [...leases, random(2 ** 32) + 1] }
  if (kind < 12 && leases.length > 0) return { t: 'release', leases: [...leases] }
  switch (random(2)) {
    case 0:
      return { t: 'list', id, prefix: pick(random, LISTED), after: pick(random, LISTED) }
    default:
      return random(3) === 0 ? { t: 'open', id, allocation: Uint8Array.from({ length: 16 }, () => random(256)) } : { t: 'open', id, name: pick(random, ['weights', 'weights', 'nothing', '__proto__', 'é']) }
  }
}

// Fields in another order, surplus ones, one that is wrong.
function reshaped(random: Random, from: Record<string, unknown>): Uint8Array {
  const fields = Object.entries(from)
  for (let i = fields.length - 1; i > 0; i--) {
    const j = random(i + 1)
    ;[fields[i], fields[j]] = [fields[j]!, fields[i]!]
  }
  switch (random(24)) {
    case 0:
      fields[random(fields.length)]![1] = oddValue(random)
      break
    case 1:
      fields.splice(random(fields.length), 1)
      break
    case 2: case 3: case 4: case 5: case 6: case 7:
      fields.push([`surplus${random(10)}`, oddValue(random)])
      break
  }
  return encode(Object.fromEntries(fields), { forceFloat32: random(20) === 0, sortKeys: random(2) === 0, ignoreUndefined: true })
}

export function mangled(random: Random, frame: Uint8Array, other: Uint8Array): Uint8Array {
  let bytes = frame.slice()
  for (let n = 1 + random(3); n > 0; n--) {
    const at = random(Math.max(1, bytes.length))
    switch (random(8)) {
      case 0:
        bytes[at]! ^= 1 << random(8)
        break
      case 1:
        bytes[at] = pick(random, ODD_BYTES)
        break
      case 2:
        bytes[at] = random(256)
        break
      case 3:
        bytes = bytes.slice(0, at)
        break
      case 4:
        bytes = new Uint8Array([...bytes.subarray(0, at), ...other.subarray(random(other.length))])
        break
      case 5:
        bytes = new Uint8Array([...bytes.subarray(0, at), pick(random, ODD_BYTES), ...bytes.subarray(at)])
        break
      case 6:
        bytes = new Uint8Array([...bytes.subarray(0, at), ...bytes.subarray(at + 1 + random(4))])
        break
      default:
        bytes = new Uint8Array([...bytes, ...bytes.subarray(at)])
    }
  }
  return bytes.length === 0 ? new Uint8Array([pick(random, ODD_BYTES)]) : bytes.subarray(0, 65536)
}

function noise(random: Random): Uint8Array {
  const length = random(100) === 0 ? 65536 : 1 + random(random(10) === 0 ? 4096 : 64)
  const byte = random(4) === 0 ? pick(random, ODD_BYTES) : -1
  return Uint8Array.from({ length }, () => (byte >= 0 ? byte : random(256)))
}

export function fuzzedFrame(random: Random, leases: readonly number[]): Uint8Array {
  const kind = random(48)
  if (kind === 0) return noise(random)
  const shaped = reshaped(random, message(random, leases))
  return kind < 4 ? mangled(random, shaped, reshaped(random, message(random, leases))) : shaped
}

/** What an exporter must do on a frame: end the connection, answer once, or (a release) nothing that is seen. */
export type Outcome = 'ends' | 'answered' | 'silent'

/** @param held - the connection's own leases; those that the frame releases are taken out */
export function outcomeOf(frame: Uint8Array, held: Set<number>): Outcome {
  let request
  try {
    request = decodeRequest(frame)
  } catch {
    return 'ends'
  }
  if (request.t === 'hello') return 'ends'
  if (request.t !== 'release') return 'answered'
  return request.leases.every((lease) => held.delete(lease)) ? 'silent' : 'ends'
}
