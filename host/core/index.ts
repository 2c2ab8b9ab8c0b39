/**
 * The handle-validation module by itself: no native code, no file, no request. Runs wherever wasm does.
 *
 * @module
 */
import type { EnvelopeKey } from '../keys.ts'
import { authenticateWith } from './authenticate.ts'
import { Core } from './core.ts'
import { decodeWith, type Envelope } from './decode.ts'
import { inspectWith, type InspectOptions, type Inspection } from './inspect.ts'
import type { VerdictName } from './names.generated.ts'
import type { Policy } from './policy.ts'
import { sealWith, type EnvelopeHeader, type EnvelopeSections, type SealOptions } from './seal.ts'

export type { EnvelopeKey } from '../keys.ts'
export { decodeArray } from './array.ts'
export { toHex, fromHex, toUuid, fromUuid } from './bytes.ts'
export { Core, MAX_ENVELOPE } from './core.ts'
export type { Envelope } from './decode.ts'
export { HandleError, StateError, UsmIpcError, isUsmIpcError } from '../errors.ts'
export type { Field } from './fields.ts'
export type { Inspection, InspectOptions } from './inspect.ts'
export { Ledger, type ClaimKind, type LedgerRecord } from './ledger.ts'
export {
  BACKENDS, DESCRIPTOR_KINDS, FIELDS, FURTHER_ROLES, HEADER, KINDS, LAYOUTS, MESSAGES, SECTIONS, VERDICTS,
  type BackendName, type DescriptorKindName, type KindName, type LayoutName, type VerdictName,
} from './names.generated.ts'
export type { Policy } from './policy.ts'
export { arrayBytes } from './seal.ts'
export type { ArrayMetadata, EnvelopeHeader, EnvelopeSections, SealOptions, WantedDescriptor } from './seal.ts'
export { TEXT_PREFIX, fromText, toText } from './text.ts'
export { instantiate, type CoreExports, type WasmModule } from './wasm.ts'

let shared: Core | undefined

/** The instance behind the functions here, made at first use. */
export function core(): Core {
  return (shared ??= new Core())
}

/**
 * The verdict about envelope bytes: `ok`, or the name of the first rule that they break.
 *
 * @param bytes - any bytes
 * @param policy - what the caller expects; what it leaves out is not checked
 * @example
 * ```ts
 * import { validate } from 'usm-ipc/core'
 *
 * const verdict = validate(new Uint8Array([1, 2, 3]), { now: Date.now() })
 * console.assert(verdict === 'not-an-envelope')
 * ```
 */
export function validate(bytes: Uint8Array, policy?: Policy): VerdictName {
  return core().validate(bytes, policy)
}

/**
 * Every field, the verdict, and what could not be checked.
 *
 * @example
 * ```ts
 * import { inspect } from 'usm-ipc/core'
 *
 * const { verdict, unchecked } = inspect(new Uint8Array(64), { layout: 'cuda' })
 * console.assert(verdict === 'ok' && unchecked.length > 0) // any 64 bytes look like a CUDA handle
 * ```
 */
export function inspect(bytes: Uint8Array, options?: InspectOptions): Inspection {
  return inspectWith(core(), bytes, options)
}

/**
 * A valid envelope's contents.
 *
 * @throws HandleError where the bytes are not valid under the policy
 */
export function decode(bytes: Uint8Array, policy?: Policy): Envelope {
  return decodeWith(core(), bytes, policy)
}

/**
 * An envelope around a vendor handle.
 *
 * @throws HandleError with the verdict of the rule that the fields break; TypeError or RangeError `ERR_USM_IPC_INVALID_KEY`
 */
export function seal(header: EnvelopeHeader, sections: EnvelopeSections, options?: SealOptions): Uint8Array {
  return sealWith(core(), header, sections, options)
}

/**
 * The envelope with a tag that this key makes, instead of the one that it may have. That one is not checked: validate
 * what comes from elsewhere first.
 *
 * @throws HandleError where the bytes are no valid envelope; TypeError or RangeError `ERR_USM_IPC_INVALID_KEY`
 * @example
 * ```ts
 * import { authenticateEnvelope, seal, validate } from 'usm-ipc/core'
 *
 * const header = {
 *   kind: 'memory', backend: 'cuda', layout: 'cuda', deviceUuid: new Uint8Array(16), allocationSize: 4096, offset: 0, nbytes: 4096,
 *   allocationId: new Uint8Array(16).fill(1), pid: 1, startTime: 0n, pidNamespace: 0n, bootId: new Uint8Array(16),
 *   created: Date.now(), expires: 0, nonce: new Uint8Array(16),
 * } as const
 * const key = { id: 1, key: crypto.getRandomValues(new Uint8Array(32)) }
 * const bytes = authenticateEnvelope(seal(header, { handle: new Uint8Array(64) }), key)
 * console.assert(validate(bytes, { keys: [key] }) === 'ok')
 * console.assert(validate(bytes, { keys: [{ id: 1, key: new Uint8Array(32) }] }) === 'bad-tag')
 * ```
 */
export function authenticateEnvelope(bytes: Uint8Array, key: EnvelopeKey): Uint8Array {
  return authenticateWith(core(), bytes, key)
}
