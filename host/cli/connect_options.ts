/** What `list` and `attach` connect with. */
import { Argument, Option, type Command } from 'commander'
import { connect } from '../sharing/connect.ts'
import type { Session } from '../sharing/session.ts'
import { addKeyOptions, readKey, type KeyOptions } from './key_file.ts'
import { integer } from './output.ts'

export interface ConnectingOptions extends KeyOptions {
  serverUid?: number
}

export const socketArgument = (): Argument => new Argument('<path>', "the exporter's socket, as `usm-ipc share` printed it")

export function addConnectOptions(command: Command): Command {
  return addKeyOptions(command, 'refuse what the exporter did not seal with this key')
    .addOption(new Option('--server-uid <number>', "whose exporter it must be (default: this user's)").argParser(integer('--server-uid', 0, 0xffff_fffe)))
}

export async function connectTo(path: string, options: ConnectingOptions): Promise<Session> {
  const key = readKey(options)
  return connect(path, {
    ...(options.serverUid === undefined ? {} : { serverUid: options.serverUid }),
    ...(key === undefined ? {} : { keys: [key], requireAuthentication: true }),
  })
}
