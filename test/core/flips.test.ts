// One CUDA envelope, one bit at a time: CUDA's own driver takes most of its handles with a flipped bit.
import { readFile } from 'node:fs/promises'
import test from 'ava'
import { Core, VERDICTS, authenticateEnvelope, fromHex, inspect, seal, type VerdictName } from '../../host/core/index.ts'
import { KEY, baseHeader } from './support/base.ts'
import { crcAt, fixCrc } from './support/forge.ts'

const handles = JSON.parse(await readFile(new URL('../data/handles.json', import.meta.url), 'utf8')) as { name: string; hex: string }[]
const handle = fromHex(handles.find(({ name }) => name === 'cuda-h200-1GiB')!.hex)!
const envelope = seal({ ...baseHeader('cuda'), allocationSize: 2 ** 30 }, { handle })
const { fields } = inspect(envelope)
const core = new Core()

/** Every bit of the envelope, flipped, as `put` then puts it right, with its field and the verdict. */
function* flips(put: (bytes: Uint8Array) => Uint8Array): Generator<{ field: string; verdict: VerdictName }> {
  for (const { name, offset, length } of fields) {
    for (let bit = 8 * offset; bit < 8 * (offset + length); bit++) {
      const bytes = envelope.slice()
      bytes[bit >> 3]! ^= 1 << (bit & 7)
      yield { field: name, verdict: VERDICTS[core.validateCode(put(bytes))]! }
    }
  }
}

test('every flipped bit of a sealed CUDA envelope is refused', (t) => {
  t.is(core.validate(envelope), 'ok')
  const refused = [...flips((bytes) => bytes)].filter(({ verdict }) => verdict !== 'ok')
  t.is(refused.length, 8 * envelope.length)
})

test('with the checksum put right, only bits pass that nothing in the envelope can tell', (t) => {
  const passed: Record<string, number> = {}
  let told = 0
  for (const { field, verdict } of flips(fixCrc)) {
    if (field === 'crc32c') t.is(verdict, 'ok') // what was flipped is what was put right
    else if (verdict === 'ok') passed[field] = (passed[field] ?? 0) + 1
    else told++
  }
  const bitsOf = (field: string): number => 8 * fields.filter(({ name }) => name === field).reduce((sum, { length }) => sum + length, 0)
  const [whole, partly] = [Object.entries(passed).filter(([field, bits]) => bits === bitsOf(field)), Object.entries(passed).filter(([field, bits]) => bits < bitsOf(field))]
  t.deepEqual(whole.map(([field]) => field), [
    'minor', 'device_uuid', 'allocation_random', 'allocation_counter', 'start_time', 'pid_namespace', 'boot_id', 'nonce',
    'cuda_opaque', 'cuda_observed_pid', 'cuda_observed_size',
  ])
  // Bits of sizes that stay inside the allocation, a pid that stays positive, times in order.
  t.deepEqual(Object.fromEntries(partly), { allocation_size: 52, offset: 30, nbytes: 29, pid: 31, created: 32, expires: 37 })
  t.is(told, 421)
})

test('with a tag and its key, no flipped bit passes, even with the checksum put right', (t) => {
  const tagged = authenticateEnvelope(envelope, KEY)
  for (let bit = 0; bit < 8 * tagged.length; bit++) {
    const bytes = tagged.slice()
    bytes[bit >> 3]! ^= 1 << (bit & 7)
    const isPutRight = bit >> 5 === crcAt(tagged) >> 2
    t.is(core.validate(fixCrc(bytes), { keys: [KEY] }) === 'ok', isPutRight, `bit ${bit}`)
  }
})
