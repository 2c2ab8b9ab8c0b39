/** The primary context is reset and made anew, at the same address: what was made in the one before is not touched any more. */
import test from 'ava'
import { IPCEvent, IPCMemoryHandle, MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared, ledger, type DriverError } from '../../host/index.ts'
import { cudaBackend } from '../support/backends.ts'
import { rawDriver } from './raw_driver.ts'

cudaBackend('legacy')
const raw = rawDriver()
const device = 'cuda'
const LARGE = 9 << 20

const bytes = new Uint8Array(LARGE).map((_, i) => i * 7 + (i >> 12))

function holds(memory: MemoryUSMDevice): boolean {
  const back = new Uint8Array(LARGE)
  memory.copyTo(back)
  return Buffer.compare(back, bytes) === 0
}

for (const turn of [1, 2]) {
  test.serial(`what has gone with its context is refused, and nothing of its follower's is freed or written: ${turn}`, (t) => {
    const gone = [
      new MemoryUSMDevice(LARGE, { device }), new MemoryUSMDevice(4096, { device }), new MemoryUSMHost(4096, { device }), new MemoryUSMShared(4096, { device }),
    ]
    const [large, small] = gone as [MemoryUSMDevice, MemoryUSMDevice]
    using stays = new MemoryUSMDevice(4096, { device, ipc: 'fd' })
    stays.fill(3)
    const event = new IPCEvent({ device })
    event.record()
    const handle = new IPCMemoryHandle(small)
    large.copyFrom(bytes) // by buffers and streams that are kept
    t.true(holds(large))

    raw.resetPrimaryContext()
    const refused = (run: () => unknown): void => {
      const { code, resultNumber } = t.throws(run) as DriverError
      t.deepEqual([code, resultNumber], ['ERR_USM_IPC_DRIVER_CALL_FAILED', 709])
    }
    refused(() => large.copyFrom(bytes))
    refused(() => large.copyTo(new Uint8Array(LARGE)))
    for (const memory of gone) refused(() => memory.fill(1))

    raw.retainPrimaryContext()
    const followers = [1, 2].map(() => new MemoryUSMDevice(LARGE, { device })) as [MemoryUSMDevice, MemoryUSMDevice]
    for (const memory of followers) memory.copyFrom(bytes)
    const few = new Uint8Array(16)
    for (const memory of gone) {
      refused(() => memory.copyFrom(few))
      refused(() => memory.copyTo(few))
      refused(() => memory.fill(1))
      refused(() => followers[0].copyFrom(memory))
    }
    refused(() => large.copyFrom(followers[0]))
    refused(() => new IPCMemoryHandle(small))
    for (const use of [() => event.record(), () => event.query(), () => event.waitOn(0n)]) refused(use)
    stays.copyTo(few)
    t.deepEqual(few, new Uint8Array(16).fill(3), 'physical memory outlives the context')

    for (const one of [handle, event, ...gone]) one.close()
    for (const memory of followers) t.true(holds(memory))
    for (const memory of followers) memory.close()
    stays.close()
    t.is(ledger().live, 0)
    t.deepEqual(ledger({ process: true }).resources, [])
  })
}
