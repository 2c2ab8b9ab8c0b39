/** An envelope on its way in: validated for a device, by what its opener trusts. */
import { asBytes } from './arguments.ts'
import { toUuid } from './core/bytes.ts'
import { BACKENDS, HEADER } from './core/names.generated.ts'
import { PreparedPolicy } from './core/policy.ts'
import { fromText } from './core/text.ts'
import { selectDevice, type Device } from './device.ts'
import { environment } from './environment.ts'
import { HandleError, typeError } from './errors.ts'
import { keyRecords, type EnvelopeKey } from './keys.ts'

export interface Trust {
  keys?: readonly EnvelopeKey[]
  requireAuthentication?: boolean
}

/** Clocks of one machine agree; this much is for a clock that was set while handles travelled. */
const CLOCK_SKEW = 60_000

const policies = { memory: new WeakMap<Device, PreparedPolicy>(), event: new WeakMap<Device, PreparedPolicy>() }

function policyOf(kind: 'memory' | 'event', device: Device, requireAuthentication: boolean): PreparedPolicy {
  const policy = new PreparedPolicy({
    kind, backend: device.backend, device: device.uuidBytes, clockSkew: CLOCK_SKEW, requireAuthentication,
  })
  if (!requireAuthentication) policies[kind].set(device, policy)
  return policy
}

/**
 * Throws the HandleError where a rule is broken; otherwise the envelope lies at the core's `inputAt`. Tells whether its tag, if
 * it has one, was checked.
 */
export function validateFor(kind: 'memory' | 'event', bytes: Uint8Array, device: Device, nbytes: number | undefined, trust: Trust): boolean {
  const { requireAuthentication = false, keys } = trust
  if (typeof requireAuthentication !== 'boolean') throw typeError('invalid-options', 'requireAuthentication must be true or false')
  const policy = requireAuthentication ? policyOf(kind, device, true) : (policies[kind].get(device) ?? policyOf(kind, device, false))
  const { core } = environment()
  const records = keys === undefined ? undefined : keyRecords(keys, 'open: keys')
  const code = core.validateCode(bytes, policy.set(Date.now(), nbytes, records))
  if (code !== 0) throw withFacts(core.refusal(code), device)
  return records !== undefined
}

// What the envelope says, where the verdict alone leaves the question which one, or how much.
function withFacts(refusal: HandleError, device: Device): HandleError {
  const { core } = environment()
  const [at, u8] = [core.inputAt, core.u8]
  const say = (fact: string): HandleError => new HandleError(refusal.verdict, `${refusal.message}: ${fact}`, refusal.byteOffset)
  switch (refusal.verdict) {
    case 'wrong-backend': {
      const named = (Object.keys(BACKENDS) as (keyof typeof BACKENDS)[]).find((name) => BACKENDS[name] === u8[at + HEADER.backend])
      return say(`it is for ${named}, this device is ${device.selector}`)
    }
    case 'wrong-device':
      return say(`it is for ${toUuid(u8.slice(at + HEADER.device_uuid, at + HEADER.device_uuid + 16))}, ${device.selector} is ${device.uuid}`)
    case 'nbytes-beyond-range':
      return say(`it shares ${size(u8, at + HEADER.nbytes)} bytes`)
    default:
      return refusal
  }
}

/** Not the preferred one: it is the envelope's device that is wanted, and only the caller knows which is meant. */
export function deviceToOpenOn(device: Device | string): Device {
  if (device === undefined) throw typeError('invalid-selector', "opening needs the device that the memory is on: a Device, or a selector like 'sycl:gpu'")
  return selectDevice(device)
}

/** Of bytes, or of their text form. */
export function envelopeBytes(bytes: unknown): Uint8Array {
  if (typeof bytes !== 'string') return asBytes(bytes, 'bytes')
  const decoded = fromText(bytes)
  if (decoded === undefined) throw new HandleError('not-an-envelope', 'this text is not the text form of an envelope (usmipc0. and base64url)')
  return decoded
}

export function u16(u8: Uint8Array, at: number): number {
  return u8[at]! | (u8[at + 1]! << 8)
}

export function u32(u8: Uint8Array, at: number): number {
  return (u8[at]! | (u8[at + 1]! << 8) | (u8[at + 2]! << 16) | (u8[at + 3]! << 24)) >>> 0
}

/** A u64 that the core has checked to be below 2^53. */
export function size(u8: Uint8Array, at: number): number {
  return u32(u8, at) + u32(u8, at + 4) * 2 ** 32
}
