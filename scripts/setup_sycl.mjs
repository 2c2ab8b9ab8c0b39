// `npm run setup:sycl`: fetches Intel's SYCL runtime (and dpctl, for the tests) from PyPI into a cache folder, once.
//   --path      prints the folder and does nothing else
//   --optional  outside CI, a failure is a warning
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { folder, marker, requirements } from './sycl_runtime.mjs'

const options = process.argv.slice(2)
const say = (text) => console.error(`usm-ipc: ${text}`)
const fail = (text) => {
  say(text)
  const excused = options.includes('--optional') && !process.env.CI
  if (excused) say('going on without the SYCL runtime')
  process.exit(excused ? 0 : 1)
}
const run = (command, args) => spawnSync(command, args, { stdio: ['ignore', 2, 2] })

const install = () => {
  if (existsSync(marker)) return // another process was faster
  const python = spawnSync('python3', ['-c', 'import venv, ensurepip'])
  if (python.error) fail('the SYCL runtime comes from PyPI, and python3 is missing (Debian: apt-get install python3-venv)')
  if (python.status !== 0) fail("python3 has no venv module (Debian: apt-get install python3-venv)")

  say(`fetching ${requirements.join(' and ')} from PyPI into ${folder}: about 900 MB on disk, once`)
  rmSync(folder, { recursive: true, force: true })
  if (run('python3', ['-m', 'venv', folder]).status !== 0) fail('`python3 -m venv` failed (see above)')
  const pip = ['install', '--quiet', '--disable-pip-version-check', '--no-input', ...requirements]
  if (run(join(folder, 'bin', 'pip'), pip).status !== 0) {
    fail('pip failed (see above). Where there is no network, set USM_IPC_SYCL to a folder that holds the runtime (include/ and lib/libsycl.so.9).')
  }
  writeFileSync(marker, `${requirements.join('\n')}\n`)
  say('the SYCL runtime is ready')
}

if (options.includes('--path')) {
  console.log(folder)
} else if (options.includes('--locked')) {
  install()
} else if (!existsSync(marker)) {
  // The lock ends with its holder, however that ends.
  mkdirSync(dirname(folder), { recursive: true })
  const again = [fileURLToPath(import.meta.url), '--locked', ...options]
  const { status, error } = run('flock', [`${folder}.lock`, process.execPath, ...again])
  if (error) fail('`flock` is missing (Debian: apt-get install util-linux)')
  process.exit(status ?? 1)
}
