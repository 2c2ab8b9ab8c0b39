import { asBytes } from '../arguments.ts'
import { HandleError } from '../errors.ts'
import { keyRecord, type EnvelopeKey } from '../keys.ts'
import { MAX_ENVELOPE, type Core } from './core.ts'
import { MESSAGES, VERDICTS } from './names.generated.ts'

/** Puts a key record where the core reads it; its address. The next call is to be the one that wipes it. */
export function putKey(core: Core, record: Uint8Array): number {
  core.u8.set(record, core.keysAt)
  return core.keysAt
}

const BUFFER_TOO_SMALL = VERDICTS.indexOf('buffer-too-small')
const TOO_LONG = VERDICTS.indexOf('too-long')

/**
 * The envelope with a tag that this key makes, instead of the one that it may have. That one is not checked: validate first.
 *
 * @throws HandleError where the bytes are no valid envelope, or have no room for a tag; TypeError or RangeError for the key
 */
export function authenticateWith(core: Core, bytes: Uint8Array, key: EnvelopeKey): Uint8Array {
  const record = keyRecord(key, 'authenticateEnvelope: key')
  try {
    const given = asBytes(bytes, 'bytes')
    // The core reads the envelope's own length, so what is said about others comes from here.
    const verdict = core.validateCode(given)
    if (verdict !== 0) throw core.refusal(verdict)
    const at = core.sealAt
    core.u8.copyWithin(at, core.inputAt, core.inputAt + given.length)
    const length = core.exports.authenticate(at, MAX_ENVELOPE, putKey(core, record))
    if (length < 0) {
      const code = -length === BUFFER_TOO_SMALL ? TOO_LONG : -length // the buffer is as long as an envelope may be
      throw new HandleError(VERDICTS[code]!, `cannot authenticate this: ${MESSAGES[code]} (${VERDICTS[code]})`)
    }
    return core.u8.slice(at, at + length)
  } finally {
    record.fill(0)
  }
}
