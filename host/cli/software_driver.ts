import type { Command } from 'commander'
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { variable } from '../variables.ts'
import { bold, dim, printJson, table } from './output.ts'

/** What the driver reads itself; docs/software-driver.md says more of each. */
const VARIABLES: readonly (readonly [string, string])[] = [
  ['USM_IPC_ZE_HANDLES', 'classic, opaque or opaque-mirror (default): the form of its IPC handles'],
  ['USM_IPC_ZE_DEVICES', 'number of devices (default 1)'],
  ['USM_IPC_ZE_SUBDEVICES', 'number of sub-devices of each (default 0)'],
  ['USM_IPC_ZE_MEMORY', "bytes of each device (default: the machine's memory)"],
  ['USM_IPC_ZE_IP_VERSION', 'below 0x05004000 the SYCL runtime chooses its older adapter'],
  ['USM_IPC_ZE_FAULT', 'function:call:result[,...]: calls that fail, as in zeMemOpenIpcHandle:1:0x78000004'],
  ['USM_IPC_ZE_LOST', 'call or function:call from which on the device is lost'],
  ['USM_IPC_ZE_TRACE', '1: what fails goes to stderr; calls: every call does'],
  ['ZE_AFFINITY_MASK', '1, 0.1 or 0,1.1: the devices and sub-devices that there are'],
  ['ZE_FLAT_DEVICE_HIERARCHY', 'COMPOSITE (default), FLAT or COMBINED: how sub-devices show'],
]

interface SoftwareDriver {
  folder: string
  /** Found by programs that look for the Level Zero loader. */
  loader: string
  /** The same driver for a real loader. */
  driver: string
}

export function softwareDriver(): SoftwareDriver {
  const addon = variable('USM_IPC_ADDON') ?? fileURLToPath(new URL('../../build/Release/usm_ipc.node', import.meta.url))
  const folder = join(dirname(resolve(addon)), 'software-driver')
  return { folder, loader: join(folder, 'libze_loader.so.1'), driver: join(folder, 'libze_usm_ipc_cpu.so') }
}

function builtDriver(): SoftwareDriver {
  const driver = softwareDriver()
  const missing = [driver.loader, driver.driver].find((path) => !existsSync(path))
  if (missing === undefined) return driver
  throw Object.assign(new Error(`the software driver is not built: there is no ${missing}. In a clone, \`npm run build:addon\` builds it`), {
    code: 'ERR_USM_IPC_NOT_BUILT',
  })
}

export function addSoftwareDriver(program: Command): void {
  program
    .command('software-driver')
    .description('Say where the software Level Zero driver is, and how SYCL and Level Zero programs run on it.')
    .option('--path', 'print its folder alone, as for ZEL_LIBRARY_PATH=$(usm-ipc software-driver --path)')
    .option('--json', 'print JSON')
    .action(({ path, json }: { path?: boolean; json?: boolean }) => {
      const driver = builtDriver()
      if (json) return printJson({ ...driver, variables: Object.fromEntries(VARIABLES) })
      if (path) return console.log(driver.folder)
      console.log(`${bold('The software Level Zero driver')}: a device whose memory is this machine's, for programs that share it.
It copies, fills and shares USM between processes; it runs no kernels.

${bold('Folder')}
  ${driver.folder}

${bold('This package')}
  npx usm-ipc devices --software                       or USM_IPC_SOFTWARE_DRIVER=1 in its environment

${bold('SYCL programs, dpctl')}
  ZEL_LIBRARY_PATH=$(npx usm-ipc software-driver --path) program

${bold('Programs that are linked with the Level Zero loader')}
  LD_LIBRARY_PATH=$(npx usm-ipc software-driver --path) program

${bold('Beside a real loader')}
  ZE_ENABLE_ALT_DRIVERS=$(npx usm-ipc software-driver --path)/libze_usm_ipc_cpu.so program

${bold('Its variables')}
${table(VARIABLES.map(([name, meaning]) => [`  ${name}`, meaning]))}

${dim('docs/software-driver.md has what it does, what it refuses, and how it differs from a real driver.')}`)
    })
}
