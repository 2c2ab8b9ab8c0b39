// What is published: the files that users need, no install script, the parts that load without the others.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import assert from 'node:assert/strict'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'usm-ipc-package-'))
const npm = (args, cwd) => execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

try {
  const [{ filename, files }] = JSON.parse(npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder], root))
  const names = files.map((f) => f.path)
  for (const wanted of ['dist/index.js', 'dist/index.d.ts', 'dist/core/index.js', 'dist/cli/main.js', 'build/core.wasm', 'build/Release/usm_ipc.node', 'build/Release/software-driver/libze_loader.so.1', 'build/Release/libusm_ipc_sycl.so', 'native/sycl/usm_ipc_sycl.h', 'LICENSE', 'SECURITY.md']) {
    assert(names.includes(wanted), `${wanted} is not in the package`)
  }
  assert(!names.some((n) => /^(test|bench|native|assembly|host|scripts)\//.test(n) && !n.endsWith('usm_ipc_sycl.h')), 'sources are in the package')

  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  npm(['install', '--no-audit', '--no-fund', '--ignore-scripts', `./${filename}`], folder)
  const node = (code) => execFileSync(process.execPath, ['--input-type=module', '-e', code], { cwd: folder, encoding: 'utf8' }).trim()
  const installed = JSON.parse(node("import { readFileSync } from 'node:fs'; console.log(readFileSync('node_modules/usm-ipc/package.json', 'utf8'))"))
  for (const script of ['preinstall', 'install', 'postinstall']) assert.equal(installed.scripts?.[script], undefined, `${script} is published`)
  assert(Object.keys(installed.dependencies).length <= 4, 'more than a handful of run-time dependencies')

  assert.equal(node("import { IPCMemoryHandle, MemoryUSMDevice } from 'usm-ipc'; using m = new MemoryUSMDevice(8, { device: 'host' }); console.log(IPCMemoryHandle.isAvailable('host'), m.nbytes)".replace('using', 'const')), 'true 8')
  assert.equal(node("import { validate } from 'usm-ipc/core'; console.log(validate(new Uint8Array(0)), process.report.getReport().sharedObjects.some((o) => o.endsWith('usm_ipc.node')))"), 'empty false')
  const wasm = node("console.log(import.meta.resolve('usm-ipc/core.wasm'))")
  assert(statSync(fileURLToPath(wasm)).size <= 40960, 'core.wasm is larger than 40 KB')
  const cli = (...args) => execFileSync('npx', ['usm-ipc', ...args], { cwd: folder, encoding: 'utf8' })
  const devices = cli('devices')
  for (const selector of ['host:0', 'level_zero:0', 'sycl:0']) assert(devices.includes(selector), `${selector} is not among the devices:\n${devices}`)
  assert.equal(cli('software-driver', '--path').trim(), join(folder, 'node_modules/usm-ipc/build/Release/software-driver'))
  assert.equal(JSON.parse(cli('demo', '--json')).ok, true)
  // Strict programs without the DOM's types, in both ways of resolving.
  writeFileSync(join(folder, 'program.ts'), `import { IPCMemoryHandle, MemoryUSMDevice, type Frame } from 'usm-ipc'
import { Core, validate } from 'usm-ipc/core'
export const open = (frame: Frame): MemoryUSMDevice => IPCMemoryHandle.open(frame.bytes, 'host')
export const verdict: string = validate(new Uint8Array(0)) + String(new Core().u8.length)\n`)
  for (const [module, resolution] of [['nodenext', 'nodenext'], ['esnext', 'bundler']]) {
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({
      compilerOptions: {
        strict: true, noEmit: true, target: 'es2022', lib: ['es2022', 'esnext.disposable'], module, moduleResolution: resolution,
        skipLibCheck: false, types: ['node'], typeRoots: [join(root, 'node_modules/@types')],
      },
      files: ['program.ts'],
    }))
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
  }
  console.log(`${filename}: ${files.length} files, installs and runs`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
