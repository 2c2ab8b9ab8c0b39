/**
 * The script of dpctl's change "SYCL IPC memory", line by line: one process exports USM device memory, another opens it.
 * Run it where there is a SYCL device, or without a GPU:
 *
 *   npm run setup:sycl && npm run build && USM_IPC_SOFTWARE_DRIVER=1 SYCL_UR_USE_LEVEL_ZERO_V2=1 npx tsx examples/seed.ts
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { FdChannel, IPCMemoryHandle, MemoryUSMDevice, selectDevice } from 'usm-ipc'

const NBYTES = 4096

// dpctl: queue = dpctl.SyclQueue(); device = queue.sycl_device
const device = selectDevice('sycl')

async function exporter(): Promise<number> {
  // dpctl: mem = MemoryUSMDevice(4096, queue=queue)
  using memory = new MemoryUSMDevice(NBYTES, { device })
  memory.copyFrom(new TextEncoder().encode('written by the exporter'))

  // dpctl: handle = IPCMemoryHandle(mem); raw = handle.to_bytes()
  using handle = new IPCMemoryHandle(memory)
  console.log(`IPC handle: ${handle.toBytes({ format: 'vendor' }).length} bytes`)

  // dpctl: conn.send(raw). Ours go in an envelope that is checked before SYCL sees them, and their descriptor beside it.
  const [here, there] = FdChannel.pair()
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url)], {
    stdio: ['ignore', 'inherit', 'inherit', there.fd],
    env: { ...process.env, USM_IPC_SEED_IMPORTER: '1' },
  })
  there.close()
  const exit = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)))
  await here.send(handle.toBytes(), { descriptors: handle.descriptors })
  const code = await exit
  here.close()
  return code
}

async function importer(): Promise<number> {
  const channel = FdChannel.adopt(3)
  const { bytes } = await channel.receive()

  // dpctl: mapped = IPCMemoryHandle.open(raw, device, nbytes=4096)
  const mapped = IPCMemoryHandle.open(bytes, device, NBYTES, { channel })
  console.log(`Opened: ${mapped.nbytes} bytes on ${mapped.device}`)
  const text = new Uint8Array(23)
  mapped.copyTo(text)
  if (new TextDecoder().decode(text) !== 'written by the exporter') throw new Error('these are other bytes')

  // dpctl: IPCMemoryHandle.close_mapping(mapped)
  IPCMemoryHandle.closeMapping(mapped)
  if (!mapped.isClosed || mapped.pointer !== 0n) throw new Error('still open')
  console.log('close OK')
  channel.close()
  return 0
}

process.exitCode = await (process.env['USM_IPC_SEED_IMPORTER'] === undefined ? exporter() : importer())
