/** Our own declarations of the driver's interface, and NVIDIA's header. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { addonFolder } from '../support/addon_folder.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DECLARED = [...readFileSync(`${ROOT}native/cuda/functions.h`, 'utf8').matchAll(/^using (cu\w+) = Result\(/gm)].map(([, name]) => name!)

test('our declarations and NVIDIA\'s header agree', (t) => {
  const headers = spawnSync(process.execPath, [`${ROOT}scripts/cuda_headers.mjs`], { encoding: 'utf8' })
  if (headers.status !== 0) {
    const isExcused = process.env['CI'] === undefined
    t.log(`${isExcused ? 'skipped: ' : ''}NVIDIA's header could not be fetched: ${headers.stderr}`)
    t.true(isExcused)
    return
  }
  t.true(DECLARED.length > 70)
  const functions = DECLARED.map((name) => `SAME_FUNCTION(${name});\n`).join('')
  const compile = (more: string): ReturnType<typeof spawnSync> => spawnSync(process.env['CXX'] ?? 'g++', [
    '-std=c++17', '-fsyntax-only', `-isystem${headers.stdout.trim()}`, `-I${ROOT}native`, '-x', 'c++', '-',
  ], { input: `#include "${ROOT}test/cuda/abi.cc"\n${functions}${more}`, encoding: 'utf8' })
  const { status, stderr } = compile('')
  t.is(status, 0, String(stderr))
  // It can fail.
  t.not(compile('SAME_VALUE(kNotReady, CUDA_ERROR_UNKNOWN);').status, 0)
})

test('the software driver has what the backend loads, and exports nothing else', (t) => {
  const loaded = [...readFileSync(`${ROOT}native/backends/cuda_api.h`, 'utf8').matchAll(/X\((cu\w+)\)/g)].map(([, name]) => name!)
  t.deepEqual(loaded.filter((name) => !DECLARED.includes(name)), [])
  const exported = execFileSync('nm', ['-D', '--defined-only', `${addonFolder}/test-drivers/libcuda.so.1`], { encoding: 'utf8' })
    .trim().split('\n').map((line) => line.split(' ')[2]!)
  t.deepEqual(loaded.filter((name) => !exported.includes(name)), [])
  t.deepEqual(exported.filter((name) => !/^(cu[A-Z]|usm_ipc_(software_cuda|cuda_sw_(fail|calls))$)/.test(name)), [])
})
