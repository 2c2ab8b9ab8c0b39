/** 100 GB, shared and attached, against the driver's own opening of the same memory. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { IPCMemoryHandle, MemoryUSMDevice, ledger, listen } from '../../host/index.ts'
import { rawDriver } from '../cuda/raw_driver.ts'
import { encode, hear, say, startChild } from '../support/child.ts'
import type { Answer } from './children/large_party.ts'
import { figure, median } from './figure.ts'

const NBYTES = 100e9
const device = 'cuda'

test.serial('100 GB are shared and attached', async (t) => {
  t.true(rawDriver().freeMemory() > NBYTES, 'the device has 100 GB free')
  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-gpu-large-'))
  const path = join(folder, 'exporter.sock')
  const memory = new MemoryUSMDevice(NBYTES, { device })
  memory.fill(3)
  const exporter = await listen({ path })
  const child = startChild(new URL('children/large_party.ts', import.meta.url), { timeoutMs: 120_000 })
  try {
    exporter.publish('large', memory)
    using handle = new IPCMemoryHandle(memory)
    await say(child.channel, { path, raw: encode(handle.toBytes({ format: 'vendor' })) })
    const { ours, bare, session, last } = await hear<Answer>(child.channel)
    t.is(last, 3)
    const ratio = median(ours) / median(bare)
    figure('100 GB attached', { 'open ms': median(ours), 'bare cuIpcOpenMemHandle ms': median(bare), ratio, target: 1.2, 'session.open ms': median(session), 'ratio of session.open': median(session) / median(bare), times: ours.length })
    t.true(ratio > 0)
  } finally {
    await child.kill()
    await exporter.close()
    memory.close()
    rmSync(folder, { recursive: true })
  }
  t.is(ledger().live, 0)
})
