// A large file, one tensor of each dtype: USM_IPC_LARGE_BYTES of data, 256 MB where it is not set (npm run test:large: 2 GB).
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { cli } from '../cli/run_cli.ts'
import { BUILT, start } from '../cli/run_share.ts'
import { writeBigFile } from './big_file.ts'

const LARGE = Number(process.env['USM_IPC_LARGE_BYTES'] ?? 256e6)
const MOST_EXTRA = 64e6
const IMPORTERS = 4
const folder = mkdtempSync(join(tmpdir(), 'ul-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

test('a large file is shared: little memory beside it, and importers that attach at once and find every digest right', async (t) => {
  t.timeout(300_000)
  const available = Number(/^MemAvailable:\s+(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8'))![1]) * 1024
  t.true(available > LARGE * 1.5, `there are ${available} bytes of memory for ${LARGE}: set USM_IPC_LARGE_BYTES`)
  const path = join(folder, 'large.safetensors')
  const socket = join(folder, 's.sock')
  const { tensors, nbytes } = await writeBigFile(path, LARGE)
  const child = spawn(process.execPath, ['--import=tsx', fileURLToPath(new URL('children/sharer.ts', import.meta.url)), path, socket, 'host'], {
    stdio: ['ignore', 'pipe', 'inherit'], timeout: 290_000, killSignal: 'SIGKILL',
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const line = await new Promise<string>((resolve) => child.stdout.setEncoding('utf8').once('data', resolve))
  const loaded = JSON.parse(line) as { extra: number; milliseconds: number; nbytes: number }
  rmSync(path) // the page cache's copy of it is not needed any more
  t.is(loaded.nbytes, nbytes)
  if (process.env['USM_IPC_SANITIZED'] === undefined) t.true(loaded.extra <= MOST_EXTRA, `loading took ${loaded.extra} bytes beside the memory`)

  // One after the other, so that it is attaching what is measured; all stay.
  const held: ReturnType<typeof start>[] = []
  for (let i = 0; i < IMPORTERS; i++) {
    held.push(start(['attach', socket, '--json', '--hold'], {}, 290_000, BUILT))
    await held[i]!.line
  }
  for (const { code, stdout, stderr } of await Promise.all(held.map(() => cli(['attach', socket, '--digest', '--json'])))) {
    t.is(code, 0, stderr)
    const { names, leases } = JSON.parse(stdout) as { names: { name: string; sha256: string; shape: number[]; leases: number }[]; leases: number }
    t.is(leases, 1)
    t.true(names[0]!.leases >= IMPORTERS)
    t.deepEqual(
      names.map(({ name, shape, sha256 }) => ({ name, shape, sha256 })),
      tensors.map(({ name, shape, sha256 }) => ({ name, shape, sha256 })),
    )
  }
  child.kill('SIGTERM')
  t.is(await ended, 0)
  const times: number[] = []
  for (const { code, stdout, stderr } of await Promise.all(held.map(({ exited }) => exited))) {
    t.is(code, 0, stderr)
    times.push((JSON.parse(stdout) as { milliseconds: number }).milliseconds)
  }
  console.log(
    `${(nbytes / 1e6).toFixed(0)} MB: loaded in ${(loaded.milliseconds / 1000).toFixed(2)} s with ${(loaded.extra / 1e6).toFixed(1)} MB beside it; `
    + `${IMPORTERS} importers attached to all ${tensors.length} tensors in ${times.map((ms) => ms.toFixed(1)).join(', ')} ms`,
  )
  // Under 5 ms on a machine that does nothing else.
  for (const ms of times) t.true(ms < 250, `attaching took ${ms} ms`)
})
