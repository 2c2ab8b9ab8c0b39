import test from 'ava'
import { Descriptor, IPCMemoryHandle, MemoryUSMDevice } from '../../host/index.ts'
import { DEADLINE, hear, startChannelThread, startChild } from '../support/child.ts'
import { counts, openDescriptors } from '../support/counts.ts'
import { asForeign } from '../support/forge.ts'

const CYCLES = 10_000

test.serial('10,000 cycles in one process leave descriptors, mappings and both books where they were', (t) => {
  const cycle = (): void => {
    using memory = new MemoryUSMDevice(4096, { device: 'host' })
    using handle = new IPCMemoryHandle(memory)
    const bytes = handle.toBytes()
    using self = IPCMemoryHandle.open(bytes, 'host')
    using mapped = IPCMemoryHandle.open(asForeign(bytes), 'host', undefined, { descriptor: handle.descriptors[0]! })
    using copy = Descriptor.duplicate(handle.descriptors[0]!.number)
    mapped.fill(copy.number & 0xff, 0, 1)
    self.copyTo(new Uint8Array(1))
  }
  for (let i = 0; i < 10; i++) cycle()
  const before = { ...counts(), descriptors: openDescriptors() }
  for (let i = 0; i < CYCLES; i++) {
    cycle()
    if (i % 1000 === 0) t.deepEqual({ ...counts(), descriptors: openDescriptors() }, before)
  }
  t.deepEqual({ ...counts(), descriptors: openDescriptors() }, before)
})

test.serial('10,000 failed opens leave nothing either', (t) => {
  using memory = new MemoryUSMDevice(4096, { device: 'host' })
  using handle = new IPCMemoryHandle(memory)
  using other = new MemoryUSMDevice(4096, { device: 'host' })
  using foreign = new IPCMemoryHandle(other)
  const descriptor = foreign.descriptors[0]!
  const bytes = asForeign(handle.toBytes())
  const failing = (): void => {
    t.throws(() => IPCMemoryHandle.open(bytes, 'host', undefined, { descriptor: descriptor.number }), { code: 'ERR_USM_IPC_DESCRIPTOR_FOREIGN' })
  }
  failing()
  const before = { ...counts(), descriptors: openDescriptors() }
  for (let i = 0; i < CYCLES; i++) failing()
  t.deepEqual({ ...counts(), descriptors: openDescriptors() }, before)
})

interface Report {
  live: number
  claims: number
  resources: number
  memfds: number
  mappings: number
  descriptors: number
  held: number
  sum: number
}

test.serial('10,000 cycles over one connection leave both processes where they were', async (t) => {
  await startChannelThread()
  const child = startChild(new URL('children/cycle_importer.ts', import.meta.url))
  let sum = 0
  const cycle = async (i: number): Promise<void> => {
    using memory = new MemoryUSMDevice(4096, { device: 'host' })
    memory.fill(i & 0xff)
    sum += i & 0xff
    using handle = new IPCMemoryHandle(memory)
    await child.channel.send(handle.toBytes(), { descriptors: handle.descriptors, timeoutMs: DEADLINE })
  }
  const report = async (last = false): Promise<Report> => {
    await child.channel.send(new Uint8Array([last ? 0 : 1]), { timeoutMs: DEADLINE })
    return hear<Report>(child.channel)
  }
  const here = (): object => ({ ...counts(), descriptors: openDescriptors() })
  try {
    for (let i = 0; i < 100; i++) await cycle(i)
    const [before, theirs] = [here(), await report()]
    t.like(theirs, { live: 0, claims: 0, resources: 0, memfds: 0, mappings: 0, held: 0, sum })
    for (let i = 0; i < CYCLES; i++) {
      await cycle(i)
      if (i % 1000 === 999) t.deepEqual(await report(), { ...theirs, sum })
    }
    t.deepEqual(here(), before)
    t.deepEqual(await report(true), { ...theirs, sum })
    t.like(await child.exited, { code: 0, stderr: '' })
  } finally {
    await child.kill()
  }
})
