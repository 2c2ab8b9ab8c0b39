import { asBytes } from '../arguments.ts'
import { HandleError } from '../errors.ts'
import { MESSAGES, VERDICTS, type VerdictName } from './names.generated.ts'
import { POLICY_SIZE, PreparedPolicy, putPolicy, writePolicy, type Policy, type PolicyBlock } from './policy.ts'
import { instantiate, type CoreExports, type WasmModule } from './wasm.ts'

/** Envelopes are at most this long, in bytes. */
export const MAX_ENVELOPE = 16384

/**
 * One instance of the wasm core. Instances are independent; one is not to be used by two threads at once.
 *
 * @example
 * ```ts
 * import { Core } from 'usm-ipc/core'
 *
 * const core = new Core()
 * console.assert(core.validate(new Uint8Array(0)) === 'empty')
 * ```
 */
export class Core {
  readonly exports: CoreExports
  // How this class divides the I/O region; the addon and the other files here get addresses from it.
  /** Address of the policy block. */
  readonly policyAt: number
  /** Address of the envelope being validated. */
  readonly inputAt: number
  /** Address of key records, 4 KiB. They are there for one call, which wipes them. */
  readonly keysAt: number
  /** Address of the envelope being sealed; 16 KiB. */
  readonly sealAt: number
  /** Address of 16 KiB for anything short-lived. */
  readonly scratchAt: number
  /** Address of the rest, for lists. */
  readonly listAt: number
  readonly listSize: number
  #u8: Uint8Array

  constructor(module?: WasmModule) {
    this.exports = instantiate(module)
    const io = this.exports.ioAddress()
    this.policyAt = io
    this.inputAt = io + POLICY_SIZE
    this.keysAt = io + 28672
    this.sealAt = io + 32768
    this.scratchAt = io + 49152
    this.listAt = io + 65536
    this.listSize = this.exports.ioSize() - 65536
    this.#u8 = new Uint8Array(this.exports.memory.buffer)
  }

  /** A view over all of the memory, good until the next call that may grow it (entering a claim). */
  get u8(): Uint8Array {
    // Growing detaches the old buffer, whose views then have length 0.
    if (this.#u8.length === 0) this.#u8 = new Uint8Array(this.exports.memory.buffer)
    return this.#u8
  }

  /**
   * The verdict about an envelope under a policy.
   *
   * @param bytes - any bytes, any length
   * @returns `ok`, or the name of the first rule that is broken (docs/verdicts.md)
   */
  validate(bytes: Uint8Array, policy?: Policy): VerdictName {
    return VERDICTS[this.validateCode(bytes, policy)]!
  }

  /** `validate` with the verdict's number: 0 is ok. The bytes then lie at `inputAt`. */
  validateCode(bytes: Uint8Array, policy?: Policy | PreparedPolicy): number {
    // Reading a policy can run the caller's code: all of it before the bytes are looked at, so that it can change nothing.
    const given = policy === undefined || policy instanceof PreparedPolicy ? policy : writePolicy(policy)
    try {
      if (!(bytes instanceof Uint8Array)) bytes = asBytes(bytes, 'bytes')
      let length = bytes.length
      if (length > MAX_ENVELOPE) {
        // Whatever it is, more than one byte too many does not change the verdict.
        length = MAX_ENVELOPE + 1
        bytes = bytes.subarray(0, length)
      }
      if (length > 0) this.u8.set(bytes, this.inputAt) // of a detached buffer, too, there are none
      return this.exports.validate(this.inputAt, length, putPolicy(this, given))
    } finally {
      given?.keys?.fill(0)
    }
  }

  /**
   * The verdict about array metadata, the bytes of an array section, for a range of memory.
   *
   * @param bytes - what `arrayBytes` gives
   * @param nbytes - the range's size in bytes
   * @returns `ok` or `bad-array`
   */
  validateArray(bytes: Uint8Array, nbytes: number): VerdictName {
    const head = asBytes(bytes, 'bytes').subarray(0, MAX_ENVELOPE)
    this.u8.set(head, this.scratchAt)
    return VERDICTS[this.exports.validateArray(this.scratchAt, head.length, nbytes)]!
  }

  /** Throws a HandleError that names the broken rule. The bytes then lie at `inputAt`. */
  check(bytes: Uint8Array, policy?: Policy): void {
    const code = this.validateCode(bytes, policy)
    if (code !== 0) throw this.refusal(code)
  }

  /**
   * Verdicts of many envelopes in one buffer.
   *
   * @param bytes - the envelopes, wherever in it
   * @param spans - offset and length of each, in bytes
   * @returns a verdict's number for each: 0 is ok, `VERDICTS[n]` its name
   * @throws RangeError where a span leaves the buffer
   */
  validateBatch(bytes: Uint8Array, spans: Uint32Array, policy?: Policy): Uint8Array {
    return validateBatch(this, bytes, spans, policy)
  }

  /** The error for a verdict on the bytes at `inputAt`. */
  refusal(code: number): HandleError {
    const offset = this.exports.failureAddress() - this.inputAt
    const name = VERDICTS[code]!
    const where = offset >= 0 && offset <= MAX_ENVELOPE ? offset : undefined
    return new HandleError(name, `${MESSAGES[code]} (${name}${where === undefined ? '' : ` at byte ${where}`})`, where)
  }
}

// Copies in as many envelopes at a time as the list region holds: pairs first, then verdicts, then the bytes.
function validateBatch(core: Core, bytes: Uint8Array, spans: Uint32Array, policy: Policy | undefined): Uint8Array {
  const given = policy === undefined ? undefined : writePolicy(policy)
  try {
    return batchUnder(core, bytes, spans, given)
  } finally {
    given?.keys?.fill(0)
  }
}

function batchUnder(core: Core, bytes: Uint8Array, spans: Uint32Array, policy: PolicyBlock | undefined): Uint8Array {
  const count = spans.length >> 1
  const verdicts = new Uint8Array(count)
  const u8 = core.u8
  const most = 2048
  const verdictsAt = core.listAt + most * 8
  const bytesAt = verdictsAt + most
  const end = core.listAt + core.listSize
  const pairs = new Uint32Array(u8.buffer, core.listAt, most * 2)
  for (let done = 0; done < count; ) {
    let n = 0
    const first = spans[2 * done]!
    let reach = first // the bytes [first, reach) of the input lie at bytesAt, where spans are in ascending order
    for (; n < most && done + n < count; n++) {
      const offset = spans[2 * (done + n)]!
      const size = spans[2 * (done + n) + 1]!
      if (offset + size > bytes.length) {
        throw new RangeError(`span ${done + n} ends at byte ${offset + size} of ${bytes.length}`)
      }
      const length = size > MAX_ENVELOPE ? MAX_ENVELOPE + 1 : size
      if (offset < reach || bytesAt + (offset - first) + length > end) break
      reach = offset + length
      pairs[2 * n] = bytesAt + (offset - first)
      pairs[2 * n + 1] = length
    }
    u8.set(bytes.subarray(first, reach), bytesAt)
    core.exports.validateBatch(core.listAt, n, putPolicy(core, policy), verdictsAt)
    verdicts.set(u8.subarray(verdictsAt, verdictsAt + n), done)
    done += n
  }
  return verdicts
}
