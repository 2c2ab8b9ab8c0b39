/** The arguments of `listen`, `publish` and `unpublish`, checked. */
import { checkNbytes, checkRange, quote } from '../arguments.ts'
import { toArrayMetadata, type ArrayLike } from '../array.ts'
import { arrayBytes } from '../core/seal.ts'
import { environment } from '../environment.ts'
import { rangeError, typeError } from '../errors.ts'
import { checkKey, type EnvelopeKey } from '../keys.ts'
import { MemoryUSMDevice, memoryClaim } from '../memory.ts'
import { checkOptions } from '../options.ts'
import { checkLimits, type Limits } from './limits.ts'
import { metadataBytes, type Metadata } from './metadata.ts'
import type { Peer } from './peer.ts'
import { isName } from './protocol.ts'

export interface ExporterOptions {
  /** Where the socket is made. A socket of this user's that nobody answers on is replaced, nothing else is. */
  path: string
  /** Who may connect, as the socket's file mode; more than 0o600 needs `authorize`. */
  mode?: number
  /**
   * Decides about each connection that the file mode lets through; only `true` serves it. Where it is left out, only this
   * user's processes are served. It has `limits.helloMs` for its answer.
   */
  authorize?: (peer: Peer) => boolean | Promise<boolean>
  /** Envelopes carry a tag of this key. */
  key?: EnvelopeKey
  limits?: Partial<Limits>
}

export interface PublishOptions {
  /** First byte of the published range, from the memory's beginning. */
  offset?: number
  /** Size of the range in bytes; all that follows the offset where it is left out. */
  nbytes?: number
  /** What the bytes are, in DLPack's terms; it must fit into the range. */
  array?: ArrayLike
  /** Plain data for the importers. */
  metadata?: Metadata
  /** Milliseconds from now after which the name is no longer served. Leases that were taken go on. */
  ttl?: number
}

export interface UnpublishOptions {
  /** Tell the importers to close what they opened by this name, and do not wait for them longer than `graceMs`. */
  revoke?: boolean
  /** Milliseconds, 1000 where it is left out. */
  graceMs?: number
  /** Gives up waiting; the name stays unpublished. */
  signal?: AbortSignal
}

/** Longest timer that the runtimes have, in milliseconds. */
const MAX_MS = 2 ** 31 - 1

export interface CheckedListen {
  path: string
  mode: number
  authorize: ExporterOptions['authorize']
  /** A copy, which whoever takes it fills with zeros in the end. */
  key: EnvelopeKey | undefined
  limits: Limits
}

export function checkListen(options: ExporterOptions): CheckedListen {
  if (typeof options === 'string') throw typeError('invalid-options', 'listen: the path goes into the options: { path }')
  checkOptions(options, ['path', 'mode', 'authorize', 'key', 'limits'], 'listen')
  const { path, mode, authorize, key, limits } = options ?? {}
  if (typeof path !== 'string' || path === '') throw typeError('invalid-path', 'listen: path must be a string that is not empty')
  if (authorize !== undefined && typeof authorize !== 'function') throw typeError('invalid-authorize', 'listen: authorize must be a function')
  if (mode !== undefined && (!Number.isInteger(mode) || mode < 0 || mode > 0o777)) throw rangeError('invalid-mode', 'listen: mode must be a number between 0 and 0o777')
  if (mode !== undefined && (mode & 0o077) !== 0 && authorize === undefined) {
    throw typeError('authorize-missing', `listen: mode 0o${mode.toString(8)} lets other users connect: say with authorize(peer) who of them is served`)
  }
  // The key last: after its copy was made nothing may fail.
  return { path, mode: mode ?? 0o600, authorize, limits: checkLimits(limits), key: key === undefined ? undefined : checkKey(key, 'listen: key') }
}

export interface CheckedPublication {
  offset: number
  nbytes: number
  array: Uint8Array | undefined
  metadata: Uint8Array | undefined
  ttl: number | undefined
}

export function checkPublish(name: unknown, memory: unknown, options: PublishOptions): CheckedPublication {
  if (!isName(name)) {
    if (typeof name !== 'string') throw typeError('invalid-name', `publish: the name must be a string, not ${typeof name}`)
    throw rangeError('invalid-name', 'publish: a name has 1 to 255 bytes of UTF-8 without control characters')
  }
  if (!(memory instanceof MemoryUSMDevice)) throw typeError('invalid-memory', 'publish: the memory must be a MemoryUSMDevice')
  checkOptions(options, ['offset', 'nbytes', 'array', 'metadata', 'ttl'], 'publish')
  const { offset: from = 0, nbytes: wanted, array, metadata, ttl } = options
  const size = memory[memoryClaim]('publish').nbytes
  const offset = checkRange(from, 0, size, 'publish')
  const nbytes = checkNbytes(wanted === undefined ? size - offset : wanted)
  checkRange(offset, nbytes, size, 'publish')
  return {
    offset, nbytes, array: array === undefined ? undefined : checkedArray(array, nbytes),
    metadata: metadata === undefined ? undefined : metadataBytes(metadata),
    ttl: ttl === undefined ? undefined : checkMs(ttl, 'publish: ttl', 1),
  }
}

function checkedArray(array: ArrayLike, nbytes: number): Uint8Array {
  const bytes = arrayBytes(toArrayMetadata(array))
  const verdict = environment().core.validateArray(bytes, nbytes)
  if (verdict !== 'ok') throw rangeError('invalid-array', `publish: the array does not fit into ${nbytes} bytes, or is none (${verdict})`)
  return bytes
}

export function checkUnpublish(options: UnpublishOptions): { revoke: boolean; graceMs: number; signal: AbortSignal | undefined } {
  checkOptions(options, ['revoke', 'graceMs', 'signal'], 'unpublish')
  const { revoke = false, graceMs = 1000, signal } = options
  if (typeof revoke !== 'boolean') throw typeError('invalid-options', 'unpublish: revoke must be true or false')
  return { revoke, graceMs: checkMs(graceMs, 'unpublish: graceMs', 0), signal }
}

export function checkMs(value: unknown, what: string, least: number): number {
  if (typeof value !== 'number') throw typeError('invalid-ttl', `${what} must be a number of milliseconds, not ${quote(value)}`)
  if (!Number.isInteger(value) || value < least || value > MAX_MS) throw rangeError('invalid-ttl', `${what} must be an integer from ${least} to ${MAX_MS} (milliseconds), not ${value}`)
  return value
}
