/** The software Level Zero driver: asked for by `--software`, and looked at in a process of its own where it was not. */
import { variable } from '../variables.ts'
import type { BackendStatus } from '../device.ts'
import { runSelf } from './run_self.ts'

const VARIABLE = 'USM_IPC_SOFTWARE_DRIVER'

/** A process has one Level Zero loader, chosen before it is loaded. */
export function isSoftwareAsked(): boolean {
  return variable(VARIABLE) === '1'
}

/** For this process and those that it starts; before the package loads a driver. */
export function askForSoftware(): void {
  process.env[VARIABLE] = '1'
}

export interface ListedDevice {
  selector: string
  backend: string
  type: string
  uuid: string
  memory: number
  name: string
  software: boolean
}

export interface Listing {
  devices: ListedDevice[]
  backends: BackendStatus[]
}

/** What `usm-ipc devices --json` says in a process that asked for the software driver, or why there is no answer. */
export async function softwareListing(): Promise<Listing | string> {
  const { code, signal, stdout, stderr } = await runSelf(['devices', '--json', '--software'])
  if (code !== 0) return `asking the software driver ended with ${signal ?? code}: ${stderr.trim().split('\n')[0] ?? ''}`
  const { devices, backends } = JSON.parse(stdout) as Listing
  return { devices: devices.filter((d) => d.software), backends }
}
