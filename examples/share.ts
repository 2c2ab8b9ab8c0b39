/**
 * Loads a model's weights once and attaches to them from another process, with no copy.
 *
 *   npm run build && npx tsx examples/share.ts [model.safetensors [device]]
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect, listen, loadSafetensors, publishTensors } from 'usm-ipc'

async function exporter(model: string | undefined, device = 'host'): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'share-'))
  try {
    using file = await loadSafetensors(model ?? smallModel(folder), device)
    await using server = await listen({ path: join(folder, 'model.sock') })
    const names = publishTensors(server, file)
    console.log(`${names.length} tensors, ${file.memory.nbytes} bytes on ${file.memory.device}`)
    const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url)], {
      stdio: 'inherit', env: { ...process.env, USM_IPC_SHARE_IMPORTER: server.path },
    })
    return await new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function importer(path: string): Promise<number> {
  await using session = await connect(path)
  for (const [name, memory] of await session.openAll()) {
    const first = new Uint8Array(Math.min(8, memory.nbytes))
    memory.copyTo(first)
    console.log(`${name}: ${memory.nbytes} bytes, beginning with ${Buffer.from(first).toString('hex')}`)
  }
  console.log(`one lease for all: ${session.leases().length === 1}`)
  return 0
}

/** Two tensors, written as the format says: the header's length, the header, the data. */
function smallModel(folder: string): string {
  const header = JSON.stringify({
    weight: { dtype: 'F32', shape: [2, 2], data_offsets: [0, 16] },
    bias: { dtype: 'F32', shape: [2], data_offsets: [16, 24] },
  })
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(header.length))
  const data = new Float32Array([1, 2, 3, 4, 0.5, 0.25])
  const path = join(folder, 'small.safetensors')
  writeFileSync(path, Buffer.concat([length, Buffer.from(header), Buffer.from(data.buffer)]))
  return path
}

const importing = process.env['USM_IPC_SHARE_IMPORTER']
process.exitCode = await (importing === undefined ? exporter(process.argv[2], process.argv[3]) : importer(importing))
