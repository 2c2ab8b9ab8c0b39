// `npm run test:gpu [-- files...]`: the contract, sharing, and CUDA's own tests on a real GPU, one group after the other.
//   --software  on the software CUDA driver, to try the runner (without test/gpu)
//   --json      the counts as JSON
// Where there is no usable CUDA device it says why, runs nothing, and ends with 2. Each group's log, figures.jsonl and
// summary.json go to the folder $OUT, if that is set. A test that skips itself is a failure here.
import { spawnSync } from 'node:child_process'
import { appendFileSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const args = process.argv.slice(2)
const software = args.includes('--software')
const files = args.filter((arg) => !arg.startsWith('--'))
const addon = process.env.USM_IPC_ADDON ?? join(root, 'build-faults/Release/usm_ipc.node')
const env = {
  ...process.env, USM_IPC_ADDON: addon, CI: 'true', FORCE_COLOR: '0', NO_COLOR: '1',
  USM_IPC_MODEL: process.env.USM_IPC_MODEL ?? 'shrink=0', // what fails first is shown as it is
  ...(software ? { USM_IPC_CUDA_DRIVER: join(dirname(addon), 'test-drivers/libcuda.so.1') } : { USM_IPC_TEST_GPU: '1' }),
}

const GROUPS = {
  contract: ['test/contract/cuda_*.test.ts'],
  sharing: ['test/sharing/**/cuda*.test.ts', 'test/sharing/crash/stale.test.ts', 'test/lifetime/*_cuda.test.ts', 'test/safetensors/load_cuda.test.ts'],
  // The comparison with NVIDIA's header needs no GPU, but the network.
  cuda: ['test/cuda/*.test.ts', '!test/cuda/abi.test.ts'],
  gpu: software ? [] : ['test/gpu/*.gpu.ts'],
}

/** Files at a time: figures are of who has the device alone, and contexts are made one after the other. */
const CONCURRENCY = { sharing: 4, gpu: 1, given: 1 }

function device() {
  const script = `import { listBackends, listDevices } from './host/index.ts'
    const cuda = listBackends().find(({ backend }) => backend === 'cuda')
    console.log(JSON.stringify({ ...cuda, devices: listDevices().filter((d) => d.backend === 'cuda').map((d) => d.toJSON()) }))`
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--import=tsx', '--input-type=module', '-e', script], { cwd: root, env, encoding: 'utf8' })
  if (status === 0) return JSON.parse(stdout)
  console.error(`The devices could not be listed, and nothing was run:\n${stderr}`)
  process.exit(1)
}

function driverVersion() {
  try {
    return /Kernel Module.*?\s(\d+\.[\d.]+)\s/.exec(readFileSync('/proc/driver/nvidia/version', 'utf8'))?.[1] ?? 'unknown'
  } catch {
    return software ? 'software' : 'unknown'
  }
}

const found = device()
if (!found.available) {
  console.error(`There is no GPU to test on, and nothing was run: ${found.reason}`)
  process.exit(2)
}
const machine = { date: new Date().toISOString().slice(0, 10), driver: driverVersion(), devices: found.devices.map(({ name, uuid }) => `${name} ${uuid}`) }
console.error(`CUDA driver ${machine.driver}, ${machine.devices.join('; ')}`)

const logs = process.env.OUT ?? mkdtempSync(join(tmpdir(), 'usm-ipc-gpu-'))
if (process.env.OUT === undefined) process.on('exit', () => rmSync(logs, { recursive: true }))

/** The log is written as it comes: where the run is killed, there is what it said until then. */
function ava(group, patterns) {
  const log = join(logs, `${group}.log`)
  const fd = openSync(log, 'w')
  const { status } = spawnSync(process.execPath, [join(root, 'node_modules/ava/entrypoints/cli.mjs'), `--concurrency=${CONCURRENCY[group] ?? 8}`, ...patterns], { cwd: root, env, stdio: ['ignore', fd, fd] })
  closeSync(fd)
  return { status, output: readFileSync(log, 'utf8') }
}

/** Without the lines of tests that passed, and what they logged. */
function withoutPassed(output) {
  let isWanted = true
  return output.split('\n').filter((line) => {
    if (/^\s*[✔✘─]/.test(line)) isWanted = !/^\s*✔/.test(line)
    return isWanted || line.includes('skipped:')
  }).join('\n')
}

const results = {}
let isRight = true
for (const [group, patterns] of Object.entries(files.length > 0 ? { given: files } : GROUPS)) {
  if (patterns.length === 0) continue
  const started = performance.now()
  const { status, output } = ava(group, patterns)
  const count = (what) => [...output.matchAll(new RegExp(`^\\s+(\\d+) (?:tests? )?${what}`, 'gm'))].reduce((sum, [, n]) => sum + Number(n), 0)
  const skipped = (output.match(/skipped:/g) ?? []).length + count('skipped')
  // AVA counts those that passed only where all did.
  const passed = (output.match(/^\s*✔/gm) ?? []).length
  const result = { passed, failed: count('failed') + count('uncaught exceptions?') + count('unhandled rejections?'), skipped, seconds: Math.round((performance.now() - started) / 1000) }
  results[group] = result
  isRight &&= status === 0 && result.failed === 0 && skipped === 0 && result.passed > 0
  console.error(`${group}: ${result.passed} passed, ${result.failed} failed, ${skipped} skipped, ${result.seconds} s`)
  if (status !== 0 || skipped > 0) console.error(withoutPassed(output))
  for (const line of output.split('\n')) {
    const figure = /FIGURE (\{.*\})/.exec(line)?.[1]
    if (figure === undefined) continue
    console.error(figure)
    appendFileSync(join(logs, 'figures.jsonl'), `${figure}\n`)
  }
}
const summary = JSON.stringify({ ...machine, results })
writeFileSync(join(logs, 'summary.json'), `${summary}\n`)
if (args.includes('--json')) console.log(summary)
const sum = (what) => Object.values(results).reduce((all, result) => all + result[what], 0)
console.error(`${sum('passed')} passed, ${sum('failed')} failed`)
process.exit(isRight ? 0 : 1)
