// `npm run test:gpu [-- files...]`: the contract, sharing, and CUDA's own tests on a real GPU, one group after the other.
//   --software  on the software CUDA driver, to try the runner (without test/gpu)
//   --json      the counts as JSON
// Where there is no usable CUDA device it says why, runs nothing, and ends with 2.
import { spawnSync } from 'node:child_process'
import { appendFileSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const args = process.argv.slice(2)
const software = args.includes('--software')
const files = args.filter((arg) => !arg.startsWith('--'))
const addon = process.env.USM_IPC_ADDON ?? join(root, 'build-faults/Release/usm_ipc.node')
const env = {
  ...process.env, USM_IPC_ADDON: addon, CI: 'true', FORCE_COLOR: '0', NO_COLOR: '1',
  ...(software ? { USM_IPC_CUDA_DRIVER: join(dirname(addon), 'test-drivers/libcuda.so.1') } : { USM_IPC_TEST_GPU: '1' }),
}

const GROUPS = {
  contract: ['test/contract/cuda_*.test.ts'],
  sharing: ['test/sharing/**/cuda*.test.ts', 'test/sharing/crash/stale.test.ts', 'test/lifetime/*_cuda.test.ts', 'test/safetensors/load_cuda.test.ts'],
  cuda: ['test/cuda/*.test.ts'],
  gpu: software ? [] : ['test/gpu/*.gpu.ts'],
}

function device() {
  const script = `import { listBackends, listDevices } from './host/index.ts'
    const cuda = listBackends().find(({ backend }) => backend === 'cuda')
    console.log(JSON.stringify({ ...cuda, devices: listDevices().filter((d) => d.backend === 'cuda').map((d) => d.toJSON()) }))`
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--import=tsx', '--input-type=module', '-e', script], { cwd: root, env, encoding: 'utf8' })
  return status === 0 ? JSON.parse(stdout) : { available: false, reason: stderr }
}

function driverVersion() {
  try {
    return /Kernel Module\D*([\d.]+)/.exec(readFileSync('/proc/driver/nvidia/version', 'utf8'))?.[1] ?? 'unknown'
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

const results = {}
let isRight = true
for (const [group, patterns] of Object.entries(files.length > 0 ? { given: files } : GROUPS)) {
  if (patterns.length === 0) continue
  const started = performance.now()
  const { stdout, stderr, status } = spawnSync(process.execPath, [join(root, 'node_modules/ava/entrypoints/cli.mjs'), ...patterns], { cwd: root, env, encoding: 'utf8', maxBuffer: 1 << 28 })
  const output = stdout + stderr
  const count = (what) => [...output.matchAll(new RegExp(`^\\s+(\\d+) (?:tests? )?${what}`, 'gm'))].reduce((sum, [, n]) => sum + Number(n), 0)
  const skipped = (output.match(/skipped:/g) ?? []).length
  const result = { passed: count('passed'), failed: count('failed') + count('uncaught exceptions?') + count('unhandled rejections?'), skipped, seconds: Math.round((performance.now() - started) / 1000) }
  results[group] = result
  isRight &&= status === 0 && result.failed === 0 && skipped === 0 && result.passed > 0
  console.error(`${group}: ${result.passed} passed, ${result.failed} failed, ${skipped} skipped, ${result.seconds} s`)
  if (status !== 0 || skipped > 0) console.error(output.split('\n').filter((line) => !/^\s*✔/.test(line)).join('\n'))
  for (const line of output.split('\n')) {
    const figure = /FIGURE (\{.*\})/.exec(line)?.[1]
    if (figure === undefined) continue
    console.error(figure)
    if (process.env.OUT) appendFileSync(join(process.env.OUT, 'figures.jsonl'), `${figure}\n`)
  }
  if (process.env.OUT) appendFileSync(join(process.env.OUT, `${group}.log`), output)
}
if (args.includes('--json')) console.log(JSON.stringify({ ...machine, results }))
const sum = (what) => Object.values(results).reduce((all, result) => all + result[what], 0)
console.error(`${sum('passed')} passed, ${sum('failed')} failed`)
process.exit(isRight ? 0 : 1)
