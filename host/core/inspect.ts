import { asBytes, quote } from '../arguments.ts'
import { typeError } from '../errors.ts'
import { checkOptions } from '../options.ts'
import { MAX_ENVELOPE, type Core } from './core.ts'
import { envelopeFields, vendorFields, type Field } from './fields.ts'
import { LAYOUTS, MESSAGES, VERDICTS, type LayoutName, type VerdictName } from './names.generated.ts'
import { PreparedPolicy, type Policy } from './policy.ts'
import { inspectUnchecked, vendorUnchecked } from './unchecked.ts'

export { VENDOR_UNCHECKED, openUnchecked } from './unchecked.ts'

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
  /** Of a valid envelope with a tag: the key that it is said to be of, and whether `policy.keys` has shown that. */
  authentication: { keyId: number; checked: boolean } | undefined
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

/**
 * Every field of an envelope or a raw vendor handle, the verdict, and what could not be checked. Never throws on bytes.
 *
 * @param bytes - any bytes
 */
export function inspectWith(core: Core, bytes: Uint8Array, options: InspectOptions = {}): Inspection {
  checkOptions(options, ['layout', 'policy'], 'inspect')
  bytes = asBytes(bytes, 'bytes')
  if (options.layout !== undefined) return inspectVendor(core, bytes, options.layout)
  const policy = options.policy === undefined ? undefined : new PreparedPolicy(options.policy)
  const code = core.validateCode(bytes, policy)
  const refusal = code === 0 ? undefined : core.refusal(code)
  const length = Math.min(bytes.length, MAX_ENVELOPE)
  const fields = envelopeFields(core, core.inputAt, length)
  // Without keys a tag is accepted and not looked at.
  const keyId = code === 0 ? Number(fields.find((f) => f.name === 'key_id')!.value) : 0
  const checked = keyId !== 0 && policy?.keys !== undefined
  const layout = fields.find((f) => f.name === 'layout')?.meaning as LayoutName | undefined
  return {
    form: 'envelope',
    layout,
    length: bytes.length,
    verdict: VERDICTS[code]!,
    message: MESSAGES[code]!,
    byteOffset: refusal?.byteOffset,
    authentication: keyId === 0 ? undefined : { keyId, checked },
    fields,
    unchecked: inspectUnchecked(keyId, checked, code === 0 ? layout : undefined),
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
    authentication: undefined,
    fields: vendorFields(core, LAYOUTS[layout], core.inputAt, Math.min(bytes.length, MAX_ENVELOPE)),
    unchecked: vendorUnchecked(layout),
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
