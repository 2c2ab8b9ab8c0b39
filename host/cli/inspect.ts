import { isatty } from 'node:tty'
import { Argument, Option, type Command } from 'commander'
import { inspect } from '../core/index.ts'
import type { Field, Inspection } from '../core/index.ts'
import { LAYOUTS, type LayoutName } from '../core/names.generated.ts'
import { toHex } from '../core/bytes.ts'
import { bytesArgument } from './bytes_argument.ts'
import { addKeyOptions, readKey, type KeyOptions } from './key_file.ts'
import { UsageError, bold, dim, green, printJson, table } from './output.ts'

interface Options extends KeyOptions {
  layout?: LayoutName
  now?: boolean
  json?: boolean
}

export function addInspect(program: Command): void {
  addKeyOptions(program.command('inspect'), 'the key that the envelope must be authenticated with')
    .description('Show every byte of a handle with its meaning, the verdict, and what could not be checked.')
    .addArgument(new Argument('[handle]', 'hexadecimal, base64, usmipc0... text, a file, or - for stdin (the default where it is no terminal)'))
    .addOption(new Option('--layout <name>', 'the bytes are a raw vendor handle of this layout').choices(Object.keys(LAYOUTS)))
    .option('--no-now', 'do not check the expiry against the clock')
    .option('--json', 'print JSON')
    .addHelpText('after', `
Examples:
  $ usm-ipc inspect handle.bin
  $ some-exporter | usm-ipc inspect -
  $ usm-ipc inspect --layout cuda 20253b34...
  $ usm-ipc inspect --key-file secret.key --key-id 3 handle.bin

Exit code: 0 the handle is valid, 1 it is not, 2 wrong usage.
A text form is a bearer token: whoever has it may open the memory. Prefer a file or stdin to an argument.`)
    .action(async (argument: string | undefined, options: Options) => {
      if (argument === undefined && isatty(0)) throw new UsageError('inspect needs a handle: give a file, or - to read it from stdin')
      const key = readKey(options)
      if (key !== undefined && options.layout !== undefined) throw new UsageError('--key-file is for envelopes: a raw handle has no tag')
      const bytes = await bytesArgument(argument ?? '-')
      const inspection = inspect(bytes, {
        ...(options.layout === undefined ? {} : { layout: options.layout }),
        policy: { ...(options.now === false ? {} : { now: Date.now(), clockSkew: 60_000 }), ...(key === undefined ? {} : { keys: [key] }) },
      })
      if (options.json) printJson(inspection)
      else print(bytes, inspection)
      process.exitCode = inspection.verdict === 'ok' ? 0 : 1
    })
}

function print(bytes: Uint8Array, inspection: Inspection): void {
  const { form, layout, verdict, message, byteOffset, authentication, fields, unchecked } = inspection
  const what = form === 'vendor' ? 'raw vendor handle' : verdict === 'not-an-envelope' ? 'not an envelope' : 'envelope'
  console.log(`${what}, ${bytes.length} bytes${layout === undefined ? '' : `, layout ${layout}`}`)
  console.log(table([
    ['OFFSET', 'BYTES', 'FIELD', 'VALUE'],
    ...fields.map((f) => [String(f.offset).padStart(6), hexOf(bytes, f), f.name, valueOf(f)]),
  ]).replace(/^.*$/m, bold))
  const line = `verdict: ${verdict}${byteOffset === undefined ? '' : ` (byte ${byteOffset})`}: ${message}`
  console.log(`\n${verdict === 'ok' ? green(line) : bold(line)}`)
  if (authentication !== undefined) console.log(`authenticated with key ${authentication.keyId}, ${authentication.checked ? 'checked' : 'not checked'}`)
  if (verdict === 'ok') {
    console.log('not checked, because no bytes can show it:')
    for (const item of unchecked) console.log(dim(`  - ${item}`))
  }
}

function hexOf(bytes: Uint8Array, field: Field): string {
  const shown = 16
  const hex = toHex(bytes.subarray(field.offset, field.offset + Math.min(field.length, shown)))
  return hex + (field.length > shown ? '..' : '')
}

function valueOf(field: Field): string {
  if (field.meaning !== undefined) return `${field.value} (${field.meaning})`
  // Control and format characters of a hostile name must not reach the terminal.
  const escaped = (c: string): string => `\\u{${c.codePointAt(0)!.toString(16)}}`
  const text = typeof field.value === 'string' ? JSON.stringify(field.value).slice(1, -1).replace(/\p{C}/gu, escaped) : String(field.value)
  return text.length > 64 ? `${text.slice(0, 60)}...` : text
}
