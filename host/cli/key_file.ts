/** `--key-file` and `--key-id`: a secret comes from a file, never from the command line. */
import { readFileSync, statSync } from 'node:fs'
import { Option, type Command } from 'commander'
import { fromHex } from '../core/bytes.ts'
import type { EnvelopeKey } from '../keys.ts'
import { UsageError, integer } from './output.ts'

export interface KeyOptions {
  keyFile?: string
  keyId?: number
}

const LEAST = 16
const MOST = 64

export function addKeyOptions(command: Command, what: string): Command {
  return command
    .addOption(new Option('--key-file <file>', `${what}: ${LEAST} to ${MOST} random bytes, or as many in hexadecimal`))
    .addOption(new Option('--key-id <number>', 'which key that is (default 1)').argParser(integer('--key-id', 1, 0xffff_ffff)))
}

/** The key that the options name, if they do. */
export function readKey({ keyFile, keyId }: KeyOptions): EnvelopeKey | undefined {
  if (keyFile === undefined) {
    if (keyId !== undefined) throw new UsageError('--key-id needs --key-file')
    return undefined
  }
  let content: Uint8Array
  try {
    const { mode } = statSync(keyFile)
    if ((mode & 0o077) !== 0) console.error(`usm-ipc: warning: other users may read ${keyFile}; chmod 600 it`)
    content = readFileSync(keyFile)
  } catch (error) {
    throw new UsageError(`cannot read the key: ${(error as Error).message}`)
  }
  const text = Buffer.from(content).toString('latin1').trim()
  const key = (text.length >= 2 * LEAST ? fromHex(text) : undefined) ?? content
  if (key.length < LEAST || key.length > MOST) {
    throw new UsageError(`${keyFile} holds ${key.length} bytes; a key has ${LEAST} to ${MOST}, for example from: openssl rand -hex 32`)
  }
  return { id: keyId ?? 1, key }
}
