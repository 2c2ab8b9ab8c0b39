/** What all commands print with. Colour only on a terminal (and not with NO_COLOR). */
import { styleText } from 'node:util'

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {}

const colourful = (stream: NodeJS.WriteStream): boolean => stream.isTTY === true && !process.env['NO_COLOR']

const style = (format: Parameters<typeof styleText>[0], stream: NodeJS.WriteStream) => (text: string): string =>
  colourful(stream) ? styleText(format, text) : text

export const bold = style('bold', process.stdout)
export const dim = style('gray', process.stdout)
export const green = style('green', process.stdout)
export const red = style('red', process.stderr)

/**
 * Standard output may be gone (`| head`): that ends nothing but the printing. Any other loss is an error, exit code 1.
 */
export function watchOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return
    process.stderr.write(`${red('usm-ipc:')} cannot write the output: ${error.message}\n`)
    process.once('exit', () => (process.exitCode = 1))
  })
}

/** What looks like a handle, which is a secret, left out: messages repeat what was typed. */
export function redact(text: string): string {
  return text.replace(/usmipc\d*\.[\w=-]{4,}|[0-9a-fA-F]{40,}|[\w+-]{64,}={0,2}/g, '(a handle)')
}

export function printJson(value: unknown): void {
  console.log(JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? v.toString() : v), 2))
}

/** A parser of an option that is an integer. */
export function integer(option: string, least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < least || value > most) throw new UsageError(`${option} must be an integer from ${least} to ${most}`)
    return value
  }
}

/** `12.3 MB`, in powers of 1000. */
export function size(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  let unit = 0
  let value = bytes
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

/** Rows as aligned columns. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>((w, row) => row.map((cell, i) => Math.max(w[i] ?? 0, cell.length)), [])
  return rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i]!)).join('  ').trimEnd()).join('\n')
}
