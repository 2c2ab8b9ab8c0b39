// `node scripts/cuda_headers.mjs`: fetches NVIDIA's cuda.h (the wheel of its CUDA runtime on PyPI) into the cache folder,
// once, and prints the folder to include from. Tests alone use it: our own declarations are compared with it.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { folder as sycl } from './sycl_runtime.mjs'

const requirement = 'nvidia-cuda-runtime==13.0.96'
const sha256 = '7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548'
const folder = join(dirname(sycl), 'cuda-headers-13.0.96')
const include = join(folder, 'nvidia', 'cu13', 'include')

const fail = (text) => {
  console.error(`usm-ipc: ${text}`)
  process.exit(1)
}
const run = (args, python = 'python3') => spawnSync(python, args, { stdio: ['ignore', 2, 2] }).status === 0

/** A Python with pip, which Debian's own has not. */
const pythonWithPip = (environment) => {
  if (spawnSync('python3', ['-m', 'pip', '--version']).status === 0) return 'python3'
  if (!run(['-m', 'venv', environment])) fail('python3 has neither pip nor venv (Debian: apt-get install python3-venv)')
  return join(environment, 'bin', 'python3')
}

if (!existsSync(join(include, 'cuda.h'))) {
  mkdirSync(dirname(folder), { recursive: true })
  const fresh = mkdtempSync(`${folder}-`)
  process.on('exit', () => rmSync(fresh, { recursive: true, force: true }))
  const pip = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-input', '--no-deps', '--only-binary=:all:', '--platform', 'manylinux2014_x86_64']
  const environment = join(fresh, 'venv')
  if (!run([...pip, '--dest', fresh, requirement], pythonWithPip(environment))) fail(`pip could not fetch ${requirement} (see above)`)
  rmSync(environment, { recursive: true, force: true })
  const wheel = join(fresh, readdirSync(fresh).find((name) => name.endsWith('.whl')))
  const found = createHash('sha256').update(readFileSync(wheel)).digest('hex')
  if (found !== sha256) fail(`${requirement} has the digest ${found}, not ${sha256}`)
  if (!run(['-m', 'zipfile', '-e', wheel, fresh])) fail('the wheel could not be unpacked')
  // The same from whoever was first.
  if (!existsSync(folder)) renameSync(fresh, folder)
}
console.log(include)
