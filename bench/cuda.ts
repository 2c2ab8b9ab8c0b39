/** CUDA on a real device: our API against the bare driver, PyTorch and cuda-core, in the same run. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as host from '../host/index.ts'
import { rawDriver, type RawDriver } from '../test/cuda/raw_driver.ts'
import { encode, hear, say, startChild } from '../test/support/child.ts'
import { PythonParty } from '../test/gpu/python_party.ts'
import { benchCopies, type Copies } from './cuda_copies.ts'
import type { Opens, Sessions } from './cuda_importer.ts'
import { built } from './support/built.ts'
import { median } from './support/paired.ts'

const NBYTES = 2 << 20
const GETS = 4000
const OPENS = 1000
const TENSORS = 1000
const TENSOR_BYTES = 4096

/** Microseconds, but for what says otherwise. */
export interface CudaResult {
  device: string
  /** The addon's call against cuIpcGetMemHandle; the whole handle object, made and closed, with an event and waiting for the device. */
  get: { ours: number; bare: number; handle: number; synchronized: number }
  opens: (Opens & { ipc: 'legacy' | 'fd' | 'pool' })[]
  copies: Copies
  session: Sessions
  torch: Torch | undefined
  cudaCore: { open: number; close: number } | undefined
}

/** `each` and so on: the consumer's time for 1,000 tensors from when the first bytes are there; `apart`: of `each`, what it does not wait for the producer. */
interface Torch {
  roundTrip: number
  each: number
  apart: number
  list: number
  flat: number
}

/** Undefined, with the reason said, where there is no device. */
export async function benchCuda(): Promise<CudaResult | undefined> {
  const { listBackends, selectDevice, MemoryUSMDevice, listen } = await built()
  const status = listBackends().find(({ backend }) => backend === 'cuda')
  if (status?.available !== true) {
    console.error(`bench: CUDA is left out: ${status?.reason ?? 'this version has no cuda backend'}`)
    return undefined
  }
  const device = selectDevice('cuda')
  const raw = rawDriver()

  const get = await benchGet(device, raw)
  const opens: CudaResult['opens'] = []
  for (const ipc of ['legacy', 'fd', 'pool'] as const) {
    // Of the copy of the package that the channel to the importer is of.
    using shared = new host.MemoryUSMDevice(NBYTES, { device: 'cuda', ipc })
    using handle = new host.IPCMemoryHandle(shared)
    opens.push({ ipc, ...(await importer<Opens>(['opens', String(OPENS)], { bytes: encode(handle.toBytes()), raw: encode(handle.toBytes({ format: 'vendor' })), physical: NBYTES }, handle)) })
  }

  const copies = await benchCopies(device, raw)

  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-bench-cuda-'))
  const path = join(folder, 'exporter.sock')
  const exporter = await listen({ path, limits: { requestsPerSecond: 1e9 } })
  const one = new MemoryUSMDevice(NBYTES, { device })
  const arena = new MemoryUSMDevice(TENSORS * TENSOR_BYTES, { device })
  exporter.publish('one', one)
  exporter.publish('arena', arena)
  for (let i = 0; i < TENSORS; i++) exporter.publish(`tensor.${i}`, arena, { offset: i * TENSOR_BYTES, nbytes: TENSOR_BYTES })
  const session = await importer<Sessions>(['session', path], {})
  await exporter.close()
  one.close()
  arena.close()
  rmSync(folder, { recursive: true })

  const torch = await python('torch_queue', async (queue) => {
    const tensors = { count: TENSORS, numel: TENSOR_BYTES / 4 }
    const measured: Torch = {
      roundTrip: await queue.do('round trips', { count: 450, nbytes: NBYTES }),
      each: await queue.do('each', { ...tensors, repeats: 7 }),
      apart: await queue.do('apart', { ...tensors, repeats: 7 }),
      list: await queue.do('list', { ...tensors, repeats: 9 }),
      flat: await queue.do('flat', { ...tensors, repeats: 21 }),
    }
    await queue.do('end')
    return measured
  })
  const cudaCore = await python('cuda_core_open', (core) => core.do<NonNullable<CudaResult['cudaCore']>>('open', { count: 500, nbytes: NBYTES }))
  return { device: `${device.name} ${device.uuid}`, get, opens, copies, session, torch, cudaCore }
}

async function benchGet(device: host.Device, raw: RawDriver): Promise<CudaResult['get']> {
  const { MemoryUSMDevice, IPCMemoryHandle, IPCEvent } = await built()
  const pointer = raw.alloc(NBYTES)
  const memory = MemoryUSMDevice.fromPointer(pointer, NBYTES, { device })
  const event = new IPCEvent({ device })
  const get = await addonGet(memory)
  const step = (call: () => void): number => {
    const started = performance.now()
    call()
    return (performance.now() - started) * 1000
  }
  const timed: Record<keyof CudaResult['get'], number[]> = { ours: [], bare: [], handle: [], synchronized: [] }
  for (let i = 0; i < GETS; i++) {
    timed.bare.push(raw.timeGet(pointer, 1)[0]! / 1000)
    timed.ours.push(get())
    timed.handle.push(step(() => new IPCMemoryHandle(memory, { event }).close())) // nothing is waited for
    timed.synchronized.push(step(() => new IPCMemoryHandle(memory).close()))
  }
  event.close()
  memory.close()
  raw.free(pointer)
  return { ours: median(timed.ours), bare: median(timed.bare), handle: median(timed.handle), synchronized: median(timed.synchronized) }
}

// The addon's own call, without the envelope around it: microseconds.
async function addonGet(memory: object): Promise<() => number> {
  const { environment } = (await import(new URL('../dist/environment.js', import.meta.url).href)) as typeof import('../host/environment.ts')
  const { memoryClaim } = (await import(new URL('../dist/memory.js', import.meta.url).href)) as typeof import('../host/memory.ts')
  const { claim } = (memory as Record<symbol, (what: string) => { claim: number }>)[memoryClaim]!('bench')
  const { native, core } = environment()
  const at = core.scratchAt
  return () => {
    const started = performance.now()
    native.get(claim, 0, core.u8, at + 1024, 4096, at, 1024, false)
    const took = (performance.now() - started) * 1000
    native.put(claim)
    return took
  }
}

/** Undefined, with the reason said, where the library is missing. */
async function python<T>(script: string, measure: (party: PythonParty) => Promise<T>): Promise<T | undefined> {
  await using party = new PythonParty(script, fileURLToPath(new URL('python', import.meta.url)))
  try {
    return await measure(party)
  } catch (error) {
    console.error(`bench: ${script} is left out: ${(error as Error).message}`)
    return undefined
  }
}

async function importer<T>(args: string[], message: object, handle?: host.IPCMemoryHandle): Promise<T> {
  const child = startChild(new URL('cuda_importer.ts', import.meta.url), { arguments: args, timeoutMs: 120_000 })
  try {
    await say(child.channel, message, handle)
    return await hear<T>(child.channel)
  } finally {
    const { stderr } = await child.kill()
    if (stderr !== '') console.error(stderr)
  }
}
