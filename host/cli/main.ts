#!/usr/bin/env node
/** `usm-ipc`: one command a file. Exit codes: 0 done, 1 it did not hold (invalid handle, failed demo), 2 wrong usage. */
import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import { isUsmIpcError } from '../errors.ts'
import { addAttach } from './attach.ts'
import { addDemo } from './demo.ts'
import { addDevices } from './devices.ts'
import { addDoctor } from './doctor.ts'
import { addInspect } from './inspect.ts'
import { addList } from './list.ts'
import { addShare } from './share.ts'
import { askForSoftware } from './software.ts'
import { addSoftwareDriver } from './software_driver.ts'
import { UsageError, red, redact, watchOutput } from './output.ts'

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }

const program = new Command('usm-ipc')
  .description('Share device memory between processes, and look at the handles that do it.')
  .version(version)
  .option('--software', 'use the software Level Zero driver that comes with this package: needs no GPU')
  .hook('preAction', () => {
    if (program.opts<{ software?: boolean }>().software) askForSoftware()
  })
  .showHelpAfterError('(--help shows what there is)')
  .exitOverride()
  .configureOutput({ writeErr: (text) => process.stderr.write(redact(text)) })
  .addHelpText('after', `
Try it:
  $ usm-ipc demo                      two processes share a file's bytes, on every backend here
  $ usm-ipc share model.safetensors   load a file once, attach from any number of processes
  $ usm-ipc devices                   where memory can be shared here
  $ usm-ipc inspect -                 look at a handle from stdin (it is a secret: keep it out of shell histories)

Exit codes: 0 done, 1 invalid or failed, 2 wrong usage. Each command has --json for scripts.`)

watchOutput()
addShare(program)
addAttach(program)
addList(program)
addDevices(program)
addInspect(program)
addDemo(program)
addDoctor(program)
addSoftwareDriver(program)

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const { message, code } = error as { message?: string; code?: string }
  if (error instanceof UsageError || code === 'ERR_USM_IPC_INVALID_SELECTOR') {
    console.error(`${red('usm-ipc:')} ${redact(String(message))}`)
    return 2
  }
  console.error(`${red('usm-ipc:')} ${redact(message ?? String(error))}${code === undefined ? '' : ` [${code}]`}`)
  if (!isUsmIpcError(error) && code === undefined) console.error((error as Error).stack)
  return 1
}
