import type { Field } from '../../../host/core/index.ts'

/** What is wrong where fields do not cover [0, length) in order without gap or overlap; undefined where they do. */
export function coverFault(fields: Field[], length: number): string | undefined {
  let at = 0
  for (const field of fields) {
    if (field.offset !== at || field.length === 0) return `${field.name} at ${field.offset}, ${field.length} bytes, after byte ${at}`
    if (field.name === '') return `a field without a name at ${at}`
    at += field.length
  }
  return at === length ? undefined : `they end at ${at} of ${length}`
}
