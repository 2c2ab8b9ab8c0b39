import type { Command } from 'commander'
import { listBackends, listDevices } from '../device.ts'
import { bold, dim, printJson, size, table } from './output.ts'

export function addDevices(program: Command): void {
  program
    .command('devices')
    .description('List the devices whose memory can be shared here, and why the other backends are absent.')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) => {
      const devices = listDevices()
      const backends = listBackends()
      if (json) return printJson({ devices, backends })
      console.log(
        table([
          ['SELECTOR', 'TYPE', 'UUID', 'MEMORY', 'NAME'],
          ...devices.map((d) => [d.selector, d.type, d.uuid, size(d.memory), d.software ? `${d.name} (software)` : d.name]),
        ]).replace(/^.*$/m, bold),
      )
      for (const { backend, available, reason } of backends) if (!available) console.log(dim(`${backend}: ${reason}`))
    })
}
