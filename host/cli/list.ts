import type { Command } from 'commander'
import { addConnectOptions, connectTo, socketArgument, type ConnectingOptions } from './connect_options.ts'
import { listed, listingTable, totalBytes } from './listing.ts'
import { dim, printJson, size } from './output.ts'

interface Options extends ConnectingOptions {
  prefix?: string
  json?: boolean
}

export function addList(program: Command): void {
  addConnectOptions(program
    .command('list')
    .description('List what an exporter shares: names, types, sizes, and how many leases are live. Opens nothing.')
    .addArgument(socketArgument())
    .option('--prefix <text>', 'only names that begin with it')
    .option('--json', 'print JSON'))
    .addHelpText('after', `
Examples:
  $ usm-ipc list /run/user/1000/usm-ipc/model.safetensors.sock
  $ usm-ipc list model.sock --prefix encoder. --json

LEASES counts the importers that have the allocation open which the name lies in. Names of one file share an allocation.

Exit code: 0 it answered, 1 nobody listens there or it does not serve this user, 2 wrong usage.`)
    .action(async (path: string, options: Options) => {
      await using session = await connectTo(path, options)
      const names = (await session.list(options.prefix === undefined ? {} : { prefix: options.prefix })).map(listed)
      if (options.json) return printJson(names)
      console.log(listingTable(names, [
        { title: 'LEASES', of: (n) => String(n.leases) },
        { title: 'DEVICE', of: (n) => `${n.device.backend} ${n.device.uuid}` },
      ]))
      const leases = new Map(names.map((n) => [n.allocationId, n.leases]))
      console.log(dim(`${names.length} names, ${size(totalBytes(names))}, ${[...leases.values()].reduce((a, b) => a + b, 0)} live leases`))
    })
}
