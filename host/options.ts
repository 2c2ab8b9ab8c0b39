/** Options objects: a misspelt name is an error, not a silent default. */
import { typeError } from './errors.ts'

/**
 * Throws a TypeError (`ERR_USM_IPC_UNKNOWN_OPTION`) when `options` has a name that is not in `known`, or is no object.
 * `where` is the function that the options belong to, as a user writes it.
 */
export function checkOptions(options: object | undefined, known: readonly string[], where: string): void {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null) {
    throw typeError(
      'invalid-options',
      `${where}: the options are an object, not ${options === null ? 'null' : typeof options}`,
    )
  }
  if (Array.isArray(options)) throw typeError('invalid-options', `${where}: the options are an object ({ ${known[0]}: ... }), not an array`)
  for (const name in options) {
    if (known.includes(name)) continue
    throw typeError('unknown-option', `${where} has no option "${name}"; it has ${known.join(', ')}`)
  }
}
