/**
 * The whole way of memory through Level Zero, again and again until it goes through twice, or as often as the argument
 * says. Tells how each time ended, and what was held afterwards.
 */
import assert from 'node:assert/strict'
import { IPCMemoryHandle, MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared } from '../../../host/index.ts'
import { counts, openDescriptors, type Counts } from '../../support/counts.ts'
import { asForeign } from '../../support/forge.ts'

export interface Outcome {
  /** undefined: it went through. */
  error?: { name: string; code: string; call?: string; result?: string; resultNumber?: number; message: string }
  held: Counts & { descriptors: number }
}

const NBYTES = 5000
const device = 'level_zero'

function flow(): void {
  using memory = new MemoryUSMDevice(NBYTES, { device })
  memory.copyFrom(Uint8Array.from({ length: NBYTES }, (_, i) => i))
  using host = new MemoryUSMHost(NBYTES, { device })
  using shared = new MemoryUSMShared(NBYTES, { device })
  host.fill(1)
  shared.fill(2)
  using handle = new IPCMemoryHandle(memory)
  // As another process opens it.
  using mapped = IPCMemoryHandle.open(asForeign(handle.toBytes()), device, undefined, { descriptor: handle.descriptors[0]!.number })
  const bytes = new Uint8Array(NBYTES)
  mapped.copyTo(bytes)
  assert(bytes.every((byte, i) => byte === (i & 255)))
  mapped.fill(3)
  memory.copyTo(bytes)
  assert(bytes.every((byte) => byte === 3))
}

const most = Number(process.argv[2] ?? 200)
const outcomes: Outcome[] = []
for (let good = 0; outcomes.length < most && good < 2; ) {
  const outcome: Partial<Outcome> = {}
  try {
    flow()
    good++
  } catch (error) {
    good = 0
    const { name, code, call, result, resultNumber, message } = error as Error & Required<Outcome>['error']
    outcome.error = { name, code, call, result, resultNumber, message } as Required<Outcome>['error']
  }
  outcome.held = { ...counts(), descriptors: openDescriptors() }
  outcomes.push(outcome as Outcome)
}
console.log(JSON.stringify(outcomes))
