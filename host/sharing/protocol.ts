/**
 * The messages of docs/protocol.md, version 1: MessagePack maps, one a frame. A message has a type `t` and the fields of
 * that type; fields that are not known are ignored, everything else that is out of order makes the whole frame invalid.
 */
import { Decoder, Encoder } from '@msgpack/msgpack'
import { PeerError } from '../errors.ts'
import { isBounded } from './bounds.ts'

export const PROTOCOL_VERSION = 1
/** Bytes of a publication's metadata as MessagePack. */
export const MAX_METADATA = 8192
/** Bytes of UTF-8 of a publication's name. */
export const MAX_NAME = 255
/** Names that an exporter publishes at most, so that a list has an end. */
export const MAX_NAMES = 1_048_576
/** Entries of a page fill a frame up to this, in bytes; the first one always fits into a frame. */
export const PAGE_BYTES = 60_000
/** The most bytes of an entry without its name, array and metadata. */
export const ENTRY_BYTES = 240
/** Leases that one `release` names. */
export const MAX_RELEASED = 1024
/** Names that one `withdrawn` lists, so that they fit into a frame. */
export const MAX_WITHDRAWN = 200

/** One name that an exporter has published, as it travels. */
export interface Entry {
  name: string
  /** The exporter's number for the export: one handle, one lease, any number of names. Never used again. */
  export: number
  /** Counts the changes of the export's names. */
  revision: number
  /** 16 bytes */
  allocation: Uint8Array
  backend: string
  /** 16 bytes */
  device: Uint8Array
  /** First byte of the range, from the beginning of what the export's envelope shares. */
  offset: number
  nbytes: number
  /** Live leases on the export. */
  leases: number
  /** The bytes of the envelope's array section. */
  array?: Uint8Array | undefined
  /** MessagePack of a map. */
  metadata?: Uint8Array | undefined
}

export interface Hello { t: 'hello'; versions: number[] }
export interface List { t: 'list'; id: number; prefix: string; after: string }
/** By name, or by the allocation id of an envelope that was kept. */
export interface Open { t: 'open'; id: number; name?: string | undefined; allocation?: Uint8Array | undefined }
export interface Release { t: 'release'; leases: number[] }
export type Request = Hello | List | Open | Release

export interface Welcome { t: 'welcome'; version: number }
export interface Listed { t: 'listed'; id: number; entries: Entry[]; more: boolean }
/** Without an envelope: the session has that lease already. */
export interface Opened { t: 'opened'; id: number; lease: number; entry: Entry; envelope?: Uint8Array | undefined }
/** `id` 0: the connection is refused. */
export interface Refused { t: 'refused'; id: number; code: string; message: string }
/** Names of a lease that are no longer served; `revoked`: the importer is asked to close what it opened by them. */
export interface Withdrawn {
  t: 'withdrawn'
  lease: number
  names: string[]
  revoked: boolean
  graceMs: number
  /** The whole lease is revoked. */
  all?: boolean | undefined
}
export type Reply = Welcome | Listed | Opened | Refused | Withdrawn

type Check = (value: unknown) => boolean
type Shape = Record<string, Check>

const isNumber = (most: number, least = 0): Check => (v) => typeof v === 'number' && Number.isInteger(v) && v >= least && v <= most
const u32 = isNumber(0xffff_ffff)
const u53 = isNumber(Number.MAX_SAFE_INTEGER)
const some53 = isNumber(Number.MAX_SAFE_INTEGER, 1)
const isBoolean: Check = (v) => typeof v === 'boolean'
const isBytes = (most: number, least = 0): Check => (v) => v instanceof Uint8Array && v.length >= least && v.length <= most
const id16 = isBytes(16, 16)
const optional = (check: Check): Check => (v) => v === undefined || check(v)
const listOf = (check: Check, most: number, least = 0): Check =>
  (v) => Array.isArray(v) && v.length >= least && v.length <= most && v.every(check)

/** Whether `name` can be published: 1 to 255 bytes of well-formed UTF-8 without control characters. */
export function isName(name: unknown): name is string {
  // oxlint-disable-next-line no-control-regex
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME || /[\u0000-\u001f\u007f-\u009f]/.test(name)) return false
  return name.isWellFormed() && (name.length * 3 <= MAX_NAME || new TextEncoder().encode(name).length <= MAX_NAME)
}

const text = (most: number): Check => (v) => typeof v === 'string' && v.length <= most
// What another process wrote is shown to people: one line, no control characters.
// oxlint-disable-next-line no-control-regex
const line = (most: number): Check => (v) => typeof v === 'string' && v.length <= most && !/[\u0000-\u001f\u007f-\u009f]/.test(v)
const code: Check = (v) => typeof v === 'string' && /^[a-z][a-z0-9-]{0,39}$/.test(v)
const fits = (shape: Shape): Check => (v) => typeof v === 'object' && v !== null && matches(v, shape)

const ENTRY: Shape = {
  name: isName, export: some53, revision: u53, allocation: id16, backend: text(32), device: id16, offset: u53, nbytes: some53,
  leases: u53, array: optional(isBytes(4096, 16)), metadata: optional(isBytes(MAX_METADATA, 1)),
}

const REQUESTS: Record<Request['t'], Shape> = {
  hello: { versions: listOf(u32, 16, 1) },
  list: { id: u32, prefix: text(MAX_NAME), after: text(MAX_NAME) },
  open: { id: u32, name: optional(isName), allocation: optional(id16) },
  release: { leases: listOf(some53, MAX_RELEASED, 1) },
}

const REPLIES: Record<Reply['t'], Shape> = {
  welcome: { version: u32 },
  listed: { id: u32, entries: listOf(fits(ENTRY), 4096), more: isBoolean },
  opened: { id: u32, lease: some53, entry: fits(ENTRY), envelope: optional(isBytes(16384, 1)) },
  refused: { id: u32, code, message: line(2048) },
  withdrawn: { lease: some53, names: listOf(isName, MAX_WITHDRAWN, 1), revoked: isBoolean, graceMs: u53, all: optional(isBoolean) },
}

function matches(value: object, shape: Shape): boolean {
  for (const name in shape) if (!shape[name]!((value as Record<string, unknown>)[name])) return false
  return true
}

/** A message, its list of entries, an entry; and room for what later versions add. */
const LEVELS = 8

const encoder = new Encoder({ ignoreUndefined: true })
// A frame bounds all lengths; extension types are not used.
const decoder = new Decoder({ maxExtLength: 0, maxMapLength: 64, maxArrayLength: 4096 })

/** The frame of a message; good until the next message is encoded, and sending copies it. */
export function encode(message: Request | Reply): Uint8Array {
  return encoder.encodeSharedRef(message)
}

export function decodeRequest(frame: Uint8Array): Request {
  return decode(frame, REQUESTS) as unknown as Request
}

export function decodeReply(frame: Uint8Array): Reply {
  return decode(frame, REPLIES) as unknown as Reply
}

function decode(frame: Uint8Array, shapes: Record<string, Shape>): { t: string } {
  let message: unknown
  if (!isBounded(frame, LEVELS)) throw new PeerError('protocol', 'the peer sent a frame that is no MessagePack of this protocol')
  try {
    message = decoder.decode(frame)
  } catch (cause) {
    throw new PeerError('protocol', 'the peer sent a frame that is no MessagePack', { cause })
  }
  const type = typeof message === 'object' && message !== null ? (message as { t?: unknown }).t : undefined
  const shape = typeof type === 'string' && Object.hasOwn(shapes, type) ? shapes[type] : undefined
  if (shape === undefined) throw new PeerError('protocol', `the peer sent a message of no known type (protocol version ${PROTOCOL_VERSION})`)
  if (!matches(message as object, shape)) throw new PeerError('protocol', `the peer's message '${type as string}' has a field that is missing or out of range`)
  return message as { t: string }
}
