import { quote } from '../arguments.ts'
import { rangeError, typeError } from '../errors.ts'
import { KEY_RECORD, keyRecords, type EnvelopeKey } from '../keys.ts'
import type { Core } from './core.ts'
import { BACKENDS, KINDS, type BackendName, type KindName } from './names.generated.ts'

/** What the caller expects of an envelope. What is left out is not checked. */
export interface Policy {
  /** Milliseconds since 1970 (`Date.now()`): checks expiry and creation time. The core has no clock of its own. */
  now?: number
  /** How far a creation time may lie ahead of `now`, in milliseconds. 0 by default. */
  clockSkew?: number
  kind?: KindName
  backend?: BackendName
  /** 16 bytes: the UUID of the device that the envelope must be for. */
  device?: Uint8Array
  /** Bytes that the caller wants: at least 1, at most what is shared. */
  nbytes?: number
  /** The tag must be that of one of these keys, 1 to 16 with different ids; envelopes without a tag are refused. */
  keys?: readonly EnvelopeKey[]
  /** Refuse envelopes without a tag, and tags that `keys` does not check. */
  requireAuthentication?: boolean
}

export const POLICY_SIZE = 64
const POLICY_NAMES = 'now, clockSkew, kind, backend, device, nbytes, keys, requireAuthentication'

/** A policy as the core takes it. */
export interface PolicyBlock {
  readonly block: Uint8Array
  /** Key records, for one call: it wipes them. Where they lie in the core's memory is not in the block yet. */
  readonly keys: Uint8Array | undefined
}

/** The policy's block and keys; unknown names and wrong types are refused. */
export function writePolicy(policy: Policy, u8: Uint8Array = new Uint8Array(POLICY_SIZE)): PolicyBlock {
  if (typeof policy !== 'object' || policy === null) throw typeError('invalid-policy', 'the policy must be an object')
  let flags = 0
  for (const key in policy) {
    const value = policy[key as keyof Policy]
    if (value === undefined) continue
    switch (key) {
      case 'now':
        flags |= 1
        writeSize(u8, 8, value, 'policy.now')
        break
      case 'clockSkew':
        writeSize(u8, 40, value, 'policy.clockSkew')
        break
      case 'kind':
        flags |= 2
        u8[4] = codeOf(KINDS, value, 'policy.kind')
        break
      case 'backend':
        flags |= 4
        u8[5] = codeOf(BACKENDS, value, 'policy.backend')
        break
      case 'device': {
        const uuid = value as Uint8Array
        if (!(uuid instanceof Uint8Array) || uuid.length !== 16) {
          throw typeError('invalid-policy', 'policy.device must be a Uint8Array of 16 bytes (a device UUID)')
        }
        flags |= 8
        for (let i = 0; i < 16; i++) u8[24 + i] = uuid[i]!
        break
      }
      case 'nbytes':
        flags |= 16
        writeSize(u8, 16, value, 'policy.nbytes')
        break
      case 'keys':
        break // below: after their copy was made nothing may fail
      case 'requireAuthentication':
        if (typeof value !== 'boolean') throw typeError('invalid-policy', 'policy.requireAuthentication must be true or false')
        if (value) flags |= 32
        break
      default:
        throw typeError('unknown-option', `policy has no option "${key}"; it has ${POLICY_NAMES}`)
    }
  }
  u8[0] = flags
  const keys = policy.keys === undefined ? undefined : keyRecords(policy.keys, 'policy.keys')
  return { block: u8, keys }
}

const POLICY_KEYS = 48 // u32 address and u32 count

/** Puts a policy where the core reads it; its address. The next call is to be the one that wipes its keys. */
export function putPolicy(core: Core, policy: PolicyBlock | undefined): number {
  if (policy === undefined) return 0
  const { u8, policyAt, keysAt } = core
  u8.set(policy.block, policyAt)
  if (policy.keys !== undefined) {
    new Uint32Array(u8.buffer, policyAt + POLICY_KEYS, 2).set([keysAt, policy.keys.length / KEY_RECORD])
    u8.set(policy.keys, keysAt)
  }
  return policyAt
}

/** A policy encoded once, of which the time, the size and the keys change from call to call. */
export class PreparedPolicy implements PolicyBlock {
  readonly block = new Uint8Array(POLICY_SIZE)
  keys: Uint8Array | undefined
  readonly #words = new Uint32Array(this.block.buffer)

  constructor(policy: Policy) {
    this.keys = writePolicy(policy, this.block).keys
  }

  /**
   * @param now - milliseconds since 1970
   * @param nbytes - undefined: not checked
   * @param keys - records, wiped by the next call
   */
  set(now: number, nbytes: number | undefined, keys?: Uint8Array): this {
    this.keys = keys
    const words = this.#words
    words[2] = now >>> 0
    words[3] = Math.floor(now / 2 ** 32)
    const wanted = nbytes ?? 0
    words[4] = wanted >>> 0
    words[5] = Math.floor(wanted / 2 ** 32)
    words[0] = (words[0]! & ~16) | 1 | (nbytes === undefined ? 0 : 16)
    return this
  }
}

function codeOf(codes: Readonly<Record<string, number>>, name: unknown, what: string): number {
  if (typeof name !== 'string' || !Object.hasOwn(codes, name)) {
    throw typeError('invalid-policy', `${what} must be one of ${Object.keys(codes).join(', ')}, not ${quote(name)}`)
  }
  return codes[name]!
}

function writeSize(u8: Uint8Array, at: number, value: unknown, what: string): void {
  if (typeof value !== 'number') throw typeError('invalid-policy', `${what} must be a number`)
  if (!Number.isSafeInteger(value) || value < 0) throw rangeError('invalid-policy', `${what} must be an integer from 0 to 2^53-1, not ${value}`)
  let rest = value
  for (let i = 0; rest !== 0; i++) {
    u8[at + i] = rest & 0xff // low 32 bits are enough for the low 8
    rest = Math.floor(rest / 256)
  }
}
