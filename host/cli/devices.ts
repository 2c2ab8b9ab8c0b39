import type { Command } from 'commander'
import { listBackends, listDevices } from '../device.ts'
import { bold, dim, printJson, size, table } from './output.ts'
import { isSoftwareAsked, softwareListing, type ListedDevice } from './software.ts'

export function addDevices(program: Command): void {
  program
    .command('devices')
    .description('List the devices whose memory can be shared here, and why the other backends are absent.')
    .option('--json', 'print JSON')
    .option('--own', "this process's own devices alone, without asking what the software driver has")
    .action(async ({ json, own }: { json?: boolean; own?: boolean }) => {
      const devices = listDevices()
      const backends = listBackends()
      // A process has one driver: what the software one offers is asked of another process.
      const software = own || isSoftwareAsked() ? undefined : await softwareListing()
      if (json) {
        return printJson({ devices, backends, ...(software === undefined ? {} : { software: typeof software === 'string' ? { reason: software } : software }) })
      }
      const more = typeof software === 'object' ? software.devices : []
      console.log(
        table([
          ['SELECTOR', 'TYPE', 'UUID', 'MEMORY', 'NAME'],
          ...devices.map((d) => row(d.toJSON() as ListedDevice, 'software')),
          ...more.map((d) => row(d, 'software: with --software')),
        ]).replace(/^.*$/m, bold),
      )
      for (const { backend, available, reason } of backends) if (!available) console.log(dim(`${backend}: ${reason}`))
      if (typeof software === 'string') console.log(dim(`software driver: ${software}`))
      if (more.length > 0) console.log(dim('Software devices need no GPU; ask for them with --software or USM_IPC_SOFTWARE_DRIVER=1.'))
    })
}

function row(d: ListedDevice, note: string): string[] {
  return [d.selector, d.type, d.uuid, size(d.memory), d.software ? `${d.name} (${note})` : d.name]
}
