/** Damaged handles: what the core refuses, and what the driver lets through. */
import test from 'ava'
import { IPCMemoryHandle, MemoryUSMDevice, inspect, validate } from '../../host/index.ts'
import { encode, hear, say, startChild } from '../support/child.ts'
import { checked } from '../support/forge.ts'
import type { Answer } from './children/flips_party.ts'
import { figure } from './figure.ts'

const device = 'cuda'

const flipped = (bytes: Uint8Array, bit: number): Uint8Array => bytes.with(bit >> 3, bytes[bit >> 3]! ^ (1 << (bit & 7)))

test.serial('every flipped bit of an envelope is refused; with its checksums put right, wherever a rule can tell', (t) => {
  using memory = new MemoryUSMDevice(2 << 20, { device })
  using handle = new IPCMemoryHandle(memory)
  const bytes = handle.toBytes()
  const bits = bytes.length * 8
  t.is(validate(bytes), 'ok')
  let refused = 0
  let told = 0
  const untold = new Set<string>()
  const fields = inspect(bytes).fields
  for (let bit = 0; bit < bits; bit++) {
    if (validate(flipped(bytes, bit)) !== 'ok') refused++
    if (bit >> 3 >= bytes.length - 4) continue // the checksum itself
    if (validate(checked(flipped(bytes, bit))) !== 'ok') told++
    else untold.add(fields.find(({ offset, length }) => bit >> 3 >= offset && bit >> 3 < offset + length)!.name)
  }
  t.is(refused, bits)
  t.true(told > 0 && told < bits)
  figure('flipped bits of a sealed cuda envelope', { bits, refused, 'with the checksums computed anew': bits - 32, 'refused by a rule': told, 'nothing can tell': [...untold].join(' ') })
})

test.serial('the bare handle: how many of its flipped bits the driver accepts', async (t) => {
  using memory = new MemoryUSMDevice(2 << 20, { device })
  using handle = new IPCMemoryHandle(memory)
  const child = startChild(new URL('children/flips_party.ts', import.meta.url), { timeoutMs: 120_000 })
  await say(child.channel, { handle: encode(handle.toBytes({ format: 'vendor' })) })
  const { accepted, right } = await hear<Answer>(child.channel)
  await child.kill()
  t.is(right, 1, 'undamaged it opens')
  t.true(accepted.length <= 512)
  const bytes = new Set(accepted.map((bit) => bit >> 3))
  figure('flipped bits of the bare 64 bytes given to the driver', { bits: 512, accepted: accepted.length, bytes: bytes.size, which: ranges([...bytes].sort((a, b) => a - b)) })
})

function ranges(numbers: number[]): string {
  const parts: [number, number][] = []
  for (const n of numbers) {
    const last = parts.at(-1)
    if (last !== undefined && last[1] === n - 1) last[1] = n
    else parts.push([n, n])
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(', ')
}
