import { asBytes, quote } from '../arguments.ts'
import { typeError } from '../errors.ts'
import { checkOptions } from '../options.ts'
import { MAX_ENVELOPE, type Core } from './core.ts'
import { envelopeFields, vendorFields, type Field } from './fields.ts'
import { LAYOUTS, MESSAGES, VERDICTS, type LayoutName, type VerdictName } from './names.generated.ts'
import type { Policy } from './policy.ts'

/** What can be said about some bytes. */
export interface Inspection {
  /** `vendor` where a layout was given. */
  form: 'envelope' | 'vendor'
  layout: LayoutName | undefined
  length: number
  verdict: VerdictName
  message: string
  /** The byte that the broken rule is about. */
  byteOffset: number | undefined
  /** Every byte, also of refused ones as far as their structure goes. */
  fields: Field[]
  /** What these bytes alone cannot show, each with the reason. */
  unchecked: string[]
}

export interface InspectOptions {
  /** The bytes are a raw vendor handle of this layout. It is never guessed: any 64 bytes look like a CUDA handle. */
  layout?: LayoutName
  policy?: Policy
}

/** What opening an envelope cannot show either. */
export const OPEN_UNCHECKED = [
  'authenticity: version 0 has no key; anybody could have made these bytes',
  'liveness: whether the exporter still runs and still holds the allocation',
] as const

/** What no look at an envelope can show. */
export const ENVELOPE_UNCHECKED = [...OPEN_UNCHECKED, 'the descriptor: it travels beside the bytes and is checked at open'] as const

/** What no look at a raw vendor handle can show. */
export const VENDOR_UNCHECKED = [
  'integrity: a raw handle has no checksum',
  'authenticity: anybody could have made these bytes',
  'liveness: whether the exporter still runs and still holds the allocation',
  'device, offset and nbytes: a raw handle does not say them all; the caller does',
] as const

/**
 * Every field of an envelope or a raw vendor handle, the verdict, and what could not be checked. Never throws on bytes.
 *
 * @param bytes - any bytes
 */
export function inspectWith(core: Core, bytes: Uint8Array, options: InspectOptions = {}): Inspection {
  checkOptions(options, ['layout', 'policy'], 'inspect')
  bytes = asBytes(bytes, 'bytes')
  if (options.layout !== undefined) return inspectVendor(core, bytes, options.layout)
  const code = core.validateCode(bytes, options.policy)
  const refusal = code === 0 ? undefined : core.refusal(code)
  const length = Math.min(bytes.length, MAX_ENVELOPE)
  const fields = envelopeFields(core, core.inputAt, length)
  return {
    form: 'envelope',
    layout: fields.find((f) => f.name === 'layout')?.meaning as LayoutName | undefined,
    length: bytes.length,
    verdict: VERDICTS[code]!,
    message: MESSAGES[code]!,
    byteOffset: refusal?.byteOffset,
    fields,
    unchecked: [...ENVELOPE_UNCHECKED],
  }
}

function inspectVendor(core: Core, bytes: Uint8Array, layout: LayoutName): Inspection {
  const code = checkVendor(core, bytes, layout)
  return {
    form: 'vendor',
    layout,
    length: bytes.length,
    verdict: VERDICTS[code]!,
    message: MESSAGES[code]!,
    byteOffset: code === 0 ? undefined : core.refusal(code).byteOffset,
    fields: vendorFields(core, LAYOUTS[layout], core.inputAt, Math.min(bytes.length, MAX_ENVELOPE)),
    unchecked: [...VENDOR_UNCHECKED],
  }
}

/** The verdict's number about a raw vendor handle; its bytes then lie at `inputAt`. */
export function checkVendor(core: Core, bytes: Uint8Array, layout: LayoutName): number {
  if (!Object.hasOwn(LAYOUTS, layout)) {
    throw typeError('unknown-layout', `layout must be one of ${Object.keys(LAYOUTS).join(', ')}, not ${quote(layout)}`)
  }
  const length = Math.min(bytes.length, MAX_ENVELOPE)
  core.u8.set(bytes.subarray(0, length), core.inputAt)
  return core.exports.validateHandle(LAYOUTS[layout], core.inputAt, length)
}
