/**
 * Fuzzes an exporter through real sockets: `tsx test/sharing/hostile/fuzz.ts [FRAMES] [--sanitize]`. With `--sanitize` the
 * exporter runs on the addon that `npm run test:sanitize` builds. The seed is printed; USM_IPC_FUZZ_SEED sets it.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { text } from 'node:stream/consumers'
import { connect, type Session } from '../../../host/index.ts'
import { Party, until } from '../trust/support.ts'
import type { Held } from '../trust/protocol.ts'
import { fuzzConnection, type Tally } from './fuzz/connection.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const NBYTES = 65536
/** Connections at a time. */
const LANES = 8
/** One frame in so many is sent by the program that breaks the rules of sockets. */
const RAW_SHARE = 50
/** Frames between two looks at what the exporter holds. */
const PERIOD = 50_000

export interface FuzzOptions {
  frames: number
  seed?: number
  sanitize?: boolean
  say?: (line: string) => void
}

export interface FuzzReport extends Tally {
  seed: number
  raw: number
  /** Times that the other session opened, read and closed meanwhile, and the longest that one took, in milliseconds. */
  served: number
  slowestMs: number
  seconds: number
  dropped: Record<string, number>
}

function sanitized(): Record<string, string> {
  const addon = process.env['USM_IPC_SANITIZED_ADDON'] ?? `${ROOT}build-sanitize/Release/usm_ipc.node`
  if (!existsSync(addon)) throw new Error(`${addon} is missing: npm run test:sanitize builds it`)
  return {
    USM_IPC_ADDON: addon,
    LD_PRELOAD: execFileSync('g++', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).trim(),
    ASAN_OPTIONS: 'detect_leaks=0:halt_on_error=1:abort_on_error=0:exitcode=99',
    UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
  }
}

export async function fuzz({ frames, seed = Number(process.env['USM_IPC_FUZZ_SEED'] ?? 20_261_130), sanitize = false, say = console.log }: FuzzOptions): Promise<FuzzReport> {
  const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-fuzz-'))
  chmodSync(folder, 0o755)
  const path = join(folder, 'socket')
  const exporter = new Party({ timeoutMs: 3_600_000, ...(sanitize && { env: sanitized() }) })
  const started = performance.now()
  const tally: Tally = { frames: 0, connections: 0, ended: 0, survived: 0, left: 0 }
  const report: FuzzReport = { ...tally, seed, raw: 0, served: 0, slowestMs: 0, seconds: 0, dropped: {} }
  const dropped = async (): Promise<void> => {
    for (const [code, times] of Object.entries((await exporter.do({ do: 'dropped' })).dropped!)) report.dropped[code] = (report.dropped[code] ?? 0) + times
  }
  try {
    say(`seed ${seed}, ${frames} frames${sanitize ? ', the exporter with AddressSanitizer' : ''}`)
    await exporter.do({ do: 'listen', path })
    await exporter.do({ do: 'publish', name: 'weights', nbytes: NBYTES, fill: 7 })
    await using session = await connect(path)
    await openReadClose(session)
    await quiet(exporter, undefined)
    const before = await exporter.held()
    let next = 0
    for (let done = 0; done < frames; done = tally.frames + report.raw) {
      const goal = Math.min(frames, done + PERIOD)
      const raw = Math.ceil((goal - done) / RAW_SHARE)
      const share = goal - report.raw - raw
      const others = rawSender(path, seed + next, raw)
      const lane = async (): Promise<void> => {
        while (tally.frames < share) await fuzzConnection(path, seed, next++, tally)
      }
      let busy = true
      const server = serve(session, report, () => busy)
      try {
        await Promise.all([...Array.from({ length: LANES }, lane), others])
      } finally {
        busy = false
        await server
      }
      report.raw += raw
      await quiet(exporter, before)
      assert.deepEqual(await exporter.held(), before, 'what the exporter holds is what it held at the beginning')
      await dropped()
      say(`${tally.frames + report.raw} frames, ${Math.round((performance.now() - started) / 1000)} s, ${residentMb(exporter.process.pid!)} MB resident`)
    }
    Object.assign(report, tally, { seconds: (performance.now() - started) / 1000 })
    const { live, claims, resources } = await exporter.end()
    assert.deepEqual({ live, claims, resources }, { live: 0, claims: 0, resources: 0 })
    return report
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}\n${await exporter.kill()}`, { cause: error })
  } finally {
    await exporter[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function openReadClose(session: Session): Promise<void> {
  const memory = await session.open('weights')
  const bytes = new Uint8Array(NBYTES)
  memory.copyTo(bytes)
  memory.close()
  assert.ok(bytes.every((byte) => byte === 7))
}

// The session that must not notice.
async function serve(session: Session, report: FuzzReport, busy: () => boolean): Promise<void> {
  while (busy()) {
    const start = performance.now()
    await openReadClose(session)
    report.slowestMs = Math.max(report.slowestMs, performance.now() - start)
    report.served++
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

async function rawSender(path: string, seed: number, frames: number): Promise<void> {
  const child = spawn('python3', [fileURLToPath(new URL('fuzz/raw_sender.py', import.meta.url)), path, String(seed), String(frames)], { stdio: ['ignore', 'pipe', 'pipe'], timeout: 3_600_000, killSignal: 'SIGKILL' })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit') as Promise<[number | null]>])
  if (code !== 0 || Number(stdout) !== frames) throw new Error(`the sender of broken frames: ${stderr}`)
}

async function quiet(exporter: Party, before: Held | undefined): Promise<void> {
  await until(async () => {
    const { peers, leases, descriptors } = await exporter.held()
    return peers === 1 && leases === 0 && (before === undefined || descriptors <= before.descriptors)
  }, 30_000)
}

function residentMb(pid: number): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))![1]) / 1024)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2)
  const report = await fuzz({ frames: Number(args.find((arg) => /^\d+$/.test(arg)) ?? 20_000), sanitize: args.includes('--sanitize') })
  console.log(report)
}
