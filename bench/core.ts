/** Validating one envelope around a 120-byte SYCL handle, against the same rules in plain TypeScript; and in batches. */
import { readFileSync } from 'node:fs'
import { BACKENDS, Core, VERDICTS, core, fromHex, seal } from '../host/core/index.ts'
import { validate as plain } from './plain/validate.ts'
import { loop, median, paired, type Paired } from './support/paired.ts'

const COUNT = 200_000
const BATCH = 10_000

export interface CoreResult {
  envelopeBytes: number
  single: Paired
  singleWithPolicy: Paired
  singlePerSecond: number
  batchPerSecond: number
}

export async function benchCore(): Promise<CoreResult> {
  const shared = core()
  const envelope = syclEnvelope()
  const policy = { now: 2_000_000, backend: 'sycl' as const, device: DEVICE, nbytes: 4096 }
  const plainPolicy = { ...policy, backend: BACKENDS.sycl }
  sameVerdicts(shared, envelope, policy, plainPolicy)
  const expectOk = (code: number): void => {
    if (code !== 0) throw new Error(`verdict ${VERDICTS[code]}`)
  }
  const single = await paired(
    'validate one envelope, copied in, against plain TypeScript',
    loop(COUNT, () => expectOk(shared.validateCode(envelope))),
    loop(COUNT, () => expectOk(plain(envelope, undefined))),
  )
  const singleWithPolicy = await paired(
    'validate under a policy (time, backend, device, size), against plain TypeScript',
    loop(COUNT, () => expectOk(shared.validateCode(envelope, policy))),
    loop(COUNT, () => expectOk(plain(envelope, plainPolicy))),
  )
  return { envelopeBytes: envelope.length, single, singleWithPolicy, singlePerSecond: 1e9 / single.ours, batchPerSecond: batch(shared, envelope, policy) }
}

const DEVICE = new Uint8Array(16).fill(3)

function syclEnvelope(): Uint8Array {
  const corpus = JSON.parse(readFileSync(new URL('../test/data/handles.json', import.meta.url), 'utf8')) as { layout: string; hex: string; truth: { pid: number } }[]
  const entry = corpus.find((h) => h.layout === 'sycl-umf-level-zero-v2')!
  return seal(
    {
      kind: 'memory', backend: 'sycl', layout: 'sycl-umf-level-zero-v2', deviceUuid: DEVICE,
      allocationSize: 1 << 20, offset: 4096, nbytes: 8192, allocationId: new Uint8Array(16).fill(7),
      pid: entry.truth.pid, startTime: 12345n, pidNamespace: 4026531836n, bootId: new Uint8Array(16).fill(9),
      created: 1_000_000, expires: 3_000_000, nonce: new Uint8Array(16).fill(5),
    },
    { handle: fromHex(entry.hex)! },
  )
}

// A comparison of two things that do not do the same would mean nothing.
function sameVerdicts(shared: Core, envelope: Uint8Array, policy: Parameters<Core['validateCode']>[1], plainPolicy: Parameters<typeof plain>[1]): void {
  const end = envelope.length - 4
  for (let bit = 0; bit < envelope.length * 8; bit++) {
    const bytes = envelope.slice()
    bytes[bit >> 3]! ^= 1 << (bit & 7)
    for (const fixed of [false, true]) {
      if (fixed) {
        shared.u8.set(bytes, shared.inputAt)
        new DataView(bytes.buffer).setUint32(end, shared.exports.crc32c(shared.inputAt, end), true)
      }
      const [ours, theirs] = [shared.validateCode(bytes, policy), plain(bytes, plainPolicy)]
      if (ours !== theirs) throw new Error(`bit ${bit}${fixed ? ', checksum put right' : ''}: core ${VERDICTS[ours]}, plain ${VERDICTS[theirs]}`)
    }
  }
}

function batch(shared: Core, envelope: Uint8Array, policy: Parameters<Core['validateBatch']>[2]): number {
  const bytes = new Uint8Array(BATCH * envelope.length)
  const spans = new Uint32Array(2 * BATCH)
  for (let i = 0; i < BATCH; i++) {
    bytes.set(envelope, i * envelope.length)
    spans.set([i * envelope.length, envelope.length], 2 * i)
  }
  const rates: number[] = []
  for (let round = 0; round < 30; round++) {
    const start = process.hrtime.bigint()
    const verdicts = shared.validateBatch(bytes, spans, policy)
    rates.push((1e9 * BATCH) / Number(process.hrtime.bigint() - start))
    if (verdicts.some((code) => code !== 0)) throw new Error('a verdict of the batch is not ok')
  }
  return median(rates)
}
