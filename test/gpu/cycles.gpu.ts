/** Thousands of openings and closings in another process: nothing grows, there, here, or on the device. */
import { execFileSync } from 'node:child_process'
import test from 'ava'
import { IPCMemoryHandle, MemoryUSMDevice, ledger } from '../../host/index.ts'
import { rawDriver } from '../cuda/raw_driver.ts'
import { encode, hear, say, startChild } from '../support/child.ts'
import type { Answer } from './children/cycles_party.ts'
import { figure } from './figure.ts'

const CYCLES = 5000
const NBYTES = 64 << 20
const device = 'cuda'
const raw = rawDriver()
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 500))

/** Bytes of the device in use by anybody, by the driver's own tool. */
const used = (): number => Number(execFileSync('nvidia-smi', ['--query-gpu=memory.used', '--format=csv,noheader,nounits', '-i', '0'], { encoding: 'utf8' }))

for (const ipc of ['legacy', 'fd', 'pool'] as const) {
  test.serial(`${CYCLES} cycles leave memory, descriptors and books flat: ${ipc}`, async (t) => {
    new MemoryUSMDevice(NBYTES, { device, ipc }).close()
    const before = { free: raw.freeMemory(), used: used() }
    const memory = new MemoryUSMDevice(NBYTES, { device, ipc })
    const handle = new IPCMemoryHandle(memory)
    const child = startChild(new URL('children/cycles_party.ts', import.meta.url), { timeoutMs: 150_000 })
    await say(child.channel, { bytes: encode(handle.toBytes()), cycles: CYCLES }, handle)
    const { first, last, seconds } = await hear<Answer>(child.channel)
    t.deepEqual(last, first)
    t.like(last, { live: 0, resources: 0 })
    await child.kill()
    handle.close()
    memory.close()
    t.is(ledger().live, 0)
    for (let i = 0; i < 10 && (raw.freeMemory() < before.free || used() > before.used); i++) await settle()
    const after = { free: raw.freeMemory(), used: used() }
    t.deepEqual(after, before)
    figure('open and close cycles', { ipc, cycles: CYCLES, seconds, 'free bytes in the importer before and after': [first.free, last.free], descriptors: last.descriptors, 'free bytes of the device before and after': [before.free, after.free] })
  })
}
