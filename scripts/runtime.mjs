// Runs the smoke cases in another runtime: `node scripts/runtime.mjs deno | bun | node24 | node`.
// Prints what the runtime's own runner counted, and exits with its code. The binaries are those of the development
// dependencies, started directly: no install script has to have run.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const require = createRequire(import.meta.url)
const x64 = process.arch === 'x64'
const musl = process.report.getReport().header.glibcVersionRuntime === undefined

const smoke = 'test/runtimes/smoke.ts'
const views = 'test/runtimes/views.ts'
const sharing = 'test/runtimes/sharing.ts'
const LEAST = ['--allow-read', '--allow-ffi']
const deno = (file, ...permissions) => ({
  file, args: ['test', '--no-check', '--no-lock', '--no-prompt', '--v8-flags=--expose-gc', ...permissions, file],
})
// A runtime chooses its driver when it starts: process.env alone does not reach the C library in every one of them.
const on = (name, run) => ({ ...run, env: { USM_IPC_SMOKE: name, USM_IPC_SOFTWARE_DRIVER: '1', USM_IPC_ZE_HANDLES: 'opaque', SYCL_UR_USE_LEVEL_ZERO_V2: '1' } })
const bun = (file) => ({ file, args: ['test', './' + file] })
const node = (file, ...flags) => ({ file, args: [...flags, '--expose-gc', '--test-reporter=spec', file] })

// Deno shows /proc to nobody with less than all permissions: the first run is without the kernel's counts, the second with.
const RUNTIMES = {
  deno: {
    binary: () => fromPackage(`@deno/linux-${x64 ? 'x64' : 'arm64'}-glibc`, 'deno'),
    runs: [
      deno(smoke, ...LEAST), deno(smoke, '--allow-all'), deno(views, '--allow-all'),
      on('level_zero', deno(smoke, '--allow-all')), on('sycl', deno(smoke, '--allow-all')),
      deno(sharing, '--allow-all'), on('level_zero', deno(sharing, '--allow-all')), on('sycl', deno(sharing, '--allow-all')),
    ],
    counts: /(?<passed>\d+) passed.*? (?<failed>\d+) failed/,
  },
  bun: {
    binary: () => fromPackage(`@oven/bun-linux-${x64 ? 'x64' : 'aarch64'}${musl ? '-musl' : ''}`, 'bin/bun'),
    runs: [bun(smoke), bun(views), on('level_zero', bun(smoke)), on('sycl', bun(smoke)), bun(sharing), on('level_zero', bun(sharing)), on('sycl', bun(sharing))],
    counts: /(?<passed>\d+) pass\n[^]*?(?<failed>\d+) fail\n/,
  },
  node24: {
    binary: () => process.env.NODE24 ?? fetched(`node-linux-${x64 ? 'x64' : 'arm64'}`, '24.21.0', 'bin/node'),
    runs: [node(smoke), node(views), on('level_zero', node(smoke)), on('sycl', node(smoke)), node(sharing), on('level_zero', node(sharing)), on('sycl', node(sharing))],
    counts: /pass (?<passed>\d+)\n[^]*?fail (?<failed>\d+)\n/,
  },
  node: {
    binary: () => process.execPath,
    runs: [node(smoke, '--import=tsx'), node(views, '--import=tsx'), node(sharing, '--import=tsx')],
    counts: /pass (?<passed>\d+)\n[^]*?fail (?<failed>\d+)\n/,
  },
}

function fromPackage(name, path) {
  let folder
  try {
    folder = dirname(require.resolve(`${name}/package.json`))
  } catch {
    fail(`${name} is not installed: npm install`)
  }
  const binary = join(folder, path)
  return existsSync(binary) ? binary : fail(`${binary} is not there`)
}

// A second Node is 190 MB: only who runs this fetches it, once.
function fetched(name, version, path) {
  const folder = join(root, '.cache', `${name}-${version}`)
  const binary = join(folder, 'node_modules', name, path)
  if (!existsSync(binary)) {
    console.error(`fetching ${name}@${version} into .cache`)
    const { status } = spawnSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', folder, `${name}@${version}`], { stdio: ['ignore', 'ignore', 'inherit'] })
    if (status !== 0 || !existsSync(binary)) fail(`${name}@${version} could not be fetched`)
  }
  return binary
}

function fail(message) {
  console.error(message)
  process.exit(2)
}

const runtime = RUNTIMES[process.argv[2]]
if (runtime === undefined) fail(`usage: node scripts/runtime.mjs ${Object.keys(RUNTIMES).join(' | ')}`)
const binary = runtime.binary()
let code = 0
for (const { file, args, env = {} } of runtime.runs) {
  const { status, signal, stdout, stderr } = spawnSync(binary, args, {
    cwd: root, encoding: 'utf8', timeout: 120_000, killSignal: 'SIGKILL', maxBuffer: 1 << 26,
    env: { ...process.env, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1', ...env },
  })
  const output = stdout + stderr
  const counted = runtime.counts.exec(output)?.groups
  if (status !== 0 || counted === undefined || counted.passed === '0') {
    process.stdout.write(output)
    code = status || 1
  }
  for (const line of output.split('\n')) if (line.includes('views: {')) console.log(line.replace(/^.*?views:/, 'views:'))
  const permissions = args.filter((arg) => arg.startsWith('--allow-')).join(' ')
  const ended = signal === null ? `exit code ${status}` : `killed by ${signal}`
  const backend = env.USM_IPC_SMOKE ? ` on ${env.USM_IPC_SMOKE}` : ''
  console.log(`${process.argv[2]} ${file}${backend}${permissions && ` (${permissions})`}: ${counted?.passed ?? '?'} passed, ${counted?.failed ?? '?'} failed, ${ended}`)
}
process.exitCode = code
