/** CUDA on a real device: our API against the bare driver, PyTorch and cuda-core, in the same run. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as host from '../host/index.ts'
import { rawDriver } from '../test/cuda/raw_driver.ts'
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
const python = fileURLToPath(new URL('python', import.meta.url))

/** Microseconds, but for what says otherwise. */
export interface CudaResult {
  device: string
  get: { ours: number; bare: number; handle: number }
  opens: (Opens & { ipc: string })[]
  copies: Copies
  session: Sessions & { torch: number }
  tensors: { openAll: number; torchEach: number; torchList: number; torchFlat: number }
  cudaCore: { open: number; close: number }
}

/** Undefined, with the reason said, where there is no device. */
export async function benchCuda(): Promise<CudaResult | undefined> {
  const { listBackends, selectDevice, MemoryUSMDevice, IPCMemoryHandle, IPCEvent, listen } = await built()
  const status = listBackends().find(({ backend }) => backend === 'cuda')
  if (status?.available !== true) {
    console.error(`bench: CUDA is left out: ${status?.reason ?? 'this version has no cuda backend'}`)
    return undefined
  }
  const device = selectDevice('cuda')
  const raw = rawDriver()

  const pointer = raw.alloc(NBYTES)
  const memory = MemoryUSMDevice.fromPointer(pointer, NBYTES, { device })
  const event = new IPCEvent({ device })
  const handles: number[] = []
  for (let i = 0; i < GETS; i++) {
    const started = performance.now()
    const handle = new IPCMemoryHandle(memory, { event }) // nothing is waited for
    handles.push((performance.now() - started) * 1000)
    handle.close()
  }
  const get = { ours: await bareGet(memory), bare: median(raw.timeGet(pointer, GETS)) / 1000, handle: median(handles) }
  event.close()
  memory.close()
  raw.free(pointer)

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
  const exporter = await listen({ path })
  const one = new MemoryUSMDevice(NBYTES, { device })
  const arena = new MemoryUSMDevice(TENSORS * TENSOR_BYTES, { device })
  exporter.publish('one', one)
  for (let i = 0; i < TENSORS; i++) exporter.publish(`tensor.${i}`, arena, { offset: i * TENSOR_BYTES, nbytes: TENSOR_BYTES })
  const session = await importer<Sessions>(['session', path], {})
  await exporter.close()
  one.close()
  arena.close()
  rmSync(folder, { recursive: true })

  await using queue = new PythonParty('torch_queue', python)
  const torch = await queue.do<number>('round trips', { count: 400 })
  const torchEach = await queue.do<number>('each', { count: TENSORS, repeats: 5 })
  const torchList = await queue.do<number>('list', { count: TENSORS, repeats: 7 })
  const torchFlat = await queue.do<number>('flat', { count: TENSORS, repeats: 11 })
  await queue.do('end')

  await using core = new PythonParty('cuda_core_open', python)
  const cudaCore = await core.do<CudaResult['cudaCore']>('open', { count: 500, nbytes: NBYTES })

  return {
    device: `${device.name} ${device.uuid}`, get, opens, copies, session: { ...session, torch },
    tensors: { openAll: session.openAll, torchEach, torchList, torchFlat }, cudaCore,
  }
}

// The addon's own call, without the envelope around it.
async function bareGet(memory: object): Promise<number> {
  const { environment } = (await import(new URL('../dist/environment.js', import.meta.url).href)) as typeof import('../host/environment.ts')
  const { memoryClaim } = (await import(new URL('../dist/memory.js', import.meta.url).href)) as typeof import('../host/memory.ts')
  const { claim } = (memory as Record<symbol, (what: string) => { claim: number }>)[memoryClaim]!('bench')
  const { native, core } = environment()
  const at = core.scratchAt
  const samples: number[] = []
  for (let i = 0; i < GETS; i++) {
    const started = performance.now()
    native.get(claim, 0, core.u8, at + 1024, 4096, at, 1024, false)
    samples.push((performance.now() - started) * 1000)
    native.put(claim)
  }
  return median(samples)
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
