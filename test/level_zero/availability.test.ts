/** Why Level Zero cannot be used here, and what would bring it. */
import { existsSync } from 'node:fs'
import test, { type ExecutionContext } from 'ava'
import { startChild } from '../support/child.ts'
import type { Outcome } from './children/flow.ts'
import { compile } from './compile.ts'
import { softwareDriver } from './party.ts'
import { softwareDriverFolder } from './software_driver.ts'

async function reason(t: ExecutionContext, env: Record<string, string>): Promise<string> {
  const child = startChild(new URL('children/flow.ts', import.meta.url), { env, arguments: ['1'] })
  const { code, stdout, stderr } = await child.exited
  child.channel.close()
  t.is(code, 0, stderr)
  const [outcome] = JSON.parse(stdout) as Outcome[]
  t.deepEqual([outcome!.error?.name, outcome!.error?.code], ['DriverError', 'ERR_USM_IPC_BACKEND_UNAVAILABLE'], stdout)
  return outcome!.error!.message
}

/** A loader of no use. */
function loader(t: ExecutionContext, ...flags: string[]): { folder: string; path: string } {
  const built = compile(['-xc++', '/dev/null'], ['-shared', ...flags], 'libze_loader.so.1')
  t.teardown(() => built.remove())
  return built
}

test.serial('no loader', async (t) => {
  const message = await reason(t, { USM_IPC_SOFTWARE_DRIVER: '', ZEL_LIBRARY_PATH: '/nonexistent' })
  t.regex(message, /no Level Zero loader \(\/nonexistent\/libze_loader\.so\.1: .*\); install it \(.*libze1.*\).*USM_IPC_SOFTWARE_DRIVER=1/)
})

test.serial('a loader that lacks what is called', async (t) => {
  const message = await reason(t, { USM_IPC_SOFTWARE_DRIVER: '', ZEL_LIBRARY_PATH: loader(t).folder })
  t.regex(message, /the Level Zero loader has no zeInit, zeDriverGet, .*; install a newer one/)
})

test.serial('a loader without a driver', async (t) => {
  const fault = { USM_IPC_ZE_FAULT: 'zeInit:*:0x78000001' }
  t.regex(await reason(t, { ...softwareDriver('opaque'), ...fault }), /the software driver has no device .*ZE_AFFINITY_MASK or USM_IPC_ZE_DEVICES leaves none/)
  const message = await reason(t, { ZEL_LIBRARY_PATH: softwareDriverFolder(), USM_IPC_SOFTWARE_DRIVER: '0', ...fault })
  t.regex(message, /found no driver.*install the GPU's.*\/dev\/dri\/renderD\*.*USM_IPC_SOFTWARE_DRIVER=1/)
})

test.serial('a process has one loader: the software driver is not loaded beside another', async (t) => {
  const { path } = loader(t, '-Wl,-soname,libze_loader.so.1')
  t.true(existsSync(softwareDriverFolder()))
  const message = await reason(t, { ...softwareDriver('opaque'), LD_PRELOAD: [process.env['LD_PRELOAD'], path].filter(Boolean).join(':') })
  t.true(message.includes(`this process has loaded ${path} already, and it can have one Level Zero loader only`), message)
})
