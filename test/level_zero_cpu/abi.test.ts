/** What needs Debian's Level Zero packages: the public headers (libze-dev), a real loader (libze1). */
import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { COMPILER, DRIVER, DRIVER_FOLDER, FLAGS, Program } from './programs.ts'

/** On CI everything runs; elsewhere what is missing is named. */
function missing(t: ExecutionContext, what: string, debianPackage: string): void {
  const message = `${what}: on Debian and Ubuntu, apt-get install ${debianPackage}`
  if (process.env['CI']) return t.fail(message)
  t.log(`skipped: ${message}`)
  t.pass()
}

test('our declarations and the public headers agree', (t) => {
  const source = fileURLToPath(new URL('abi.cc', import.meta.url))
  const { status } = spawnSync(COMPILER, ['-fsyntax-only', '-x', 'c++', '-'], { input: '#include <level_zero/ze_api.h>\n' })
  if (status !== 0) return missing(t, 'the Level Zero headers are not there', 'libze-dev')
  const compiled = spawnSync(COMPILER, [...FLAGS, '-fsyntax-only', source], { encoding: 'utf8' })
  t.is(compiled.status, 0, compiled.stderr)
})

test('a real loader runs the driver', async (t) => {
  const loader = 'libze_loader.so.1'
  const probe = spawnSync('python3', ['-c', `import ctypes; ctypes.CDLL("${loader}")`])
  if (probe.status !== 0) return missing(t, 'there is no Level Zero loader', 'libze1')
  const env = { ZE_ENABLE_ALT_DRIVERS: `${DRIVER_FOLDER}/libze_usm_ipc_cpu.so` }
  // What a loader of 1.4 has; it checks no arguments.
  await new Program('memory').passes(t, 'opened_in_the_same_process', env, loader)
  const ipc = new Program('ipc')
  for (const [form, name] of [['classic', 'descriptor_put_into_the_handle'], ['opaque', 'descriptor_fetched_by_the_driver']] as const) {
    await ipc.passes(t, name, { ...env, USM_IPC_ZE_HANDLES: form }, loader)
  }
  await new Program('commands').passes(t, 'copies_of_regions', env, loader)
})

test('the libraries have the names that programs look for, and export nothing but their interface', (t) => {
  const dynamic = (path: string): string => execFileSync('readelf', ['-dW', path], { encoding: 'utf8' })
  const exported = (path: string): string[] =>
    execFileSync('nm', ['-D', '--defined-only', path], { encoding: 'utf8' }).trim().split('\n').map((line) => line.split(' ')[2]!)
  t.regex(dynamic(DRIVER), /SONAME.*\[libze_loader\.so\.1\]/)
  const driver = `${DRIVER_FOLDER}/libze_usm_ipc_cpu.so`
  const [asLoader, asDriver] = [exported(DRIVER), exported(driver)]
  t.deepEqual(asDriver.filter((name) => !/^(ze[str]?[A-Z]|usmIpcSoftwareDriverVersion$)/.test(name)), [])
  t.deepEqual(asDriver.filter((name) => !asLoader.includes(name)), [])
  for (const name of ['zeLoaderInit', 'zelLoaderGetVersionsInternal', 'zesInit', 'zesGetGlobalProcAddrTable', 'zetGetMetricProcAddrTable']) t.true(asLoader.includes(name), name)
  for (const name of ['zeInit', 'zeInitDrivers', 'zeMemOpenIpcHandle', 'zeGetMemProcAddrTable', 'zeImageCreate']) t.true(asDriver.includes(name), name)
})
