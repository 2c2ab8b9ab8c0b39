import { checkNbytes, checkRange } from './arguments.ts'
import { toArrayMetadata, type ArrayLike } from './array.ts'
import { arrayBytes, nameBytes, Sealer } from './core/seal.ts'
import { SECTIONS } from './core/names.generated.ts'
import { environment } from './environment.ts'
import { checked, rangeError, typeError } from './errors.ts'
import { keyRecord, type EnvelopeKey } from './keys.ts'
import { memoryAllocation, memoryClaim, type MemoryUSMDevice } from './memory.ts'

export interface ExportOptions {
  /** First byte of the shared range, from the memory's beginning. */
  offset?: number
  /** Size of the shared range; all that follows the offset where it is left out. */
  nbytes?: number
  /** For people and logs: 1 to 255 bytes of UTF-8, no control characters. Not secret. */
  name?: string
  /** What the bytes are, in DLPack's terms; it must fit into the range. */
  array?: ArrayLike
  /** Milliseconds from now after which nobody opens it any more. Never, where it is left out. */
  ttl?: number
  /** The envelope gets a tag that this key makes: importers that have the key too know that it is unchanged and from here. */
  key?: EnvelopeKey
}

export const EXPORT_OPTIONS = ['offset', 'nbytes', 'name', 'array', 'ttl', 'key']

/** Room for a vendor handle (the addon writes at most this much) and for descriptor entries. */
const HANDLE_CAPACITY = 4096
const ENTRIES_CAPACITY = 8 + 16 * 24

/** The envelope around what the driver gives for the memory. The vendor handle goes from the addon straight into the core. */
export function sealExport(memory: MemoryUSMDevice, options: ExportOptions): Uint8Array {
  // Reading options can run the caller's code: all of it before the envelope is begun.
  const { offset: from = 0, nbytes: wanted, name, array, ttl, key } = options
  const sections = { array: array === undefined ? undefined : arrayBytes(toArrayMetadata(array)), name: name === undefined ? undefined : nameBytes(name) }
  const record = key === undefined ? undefined : keyRecord(key, 'export: key')
  try {
    return sealRange(memory, { from, wanted, ttl }, sections, record)
  } finally {
    record?.fill(0)
  }
}

interface Extent {
  from: unknown
  wanted: unknown
  ttl: unknown
}

function sealRange(
  memory: MemoryUSMDevice, { from, wanted, ttl }: Extent, sections: { array: Uint8Array | undefined; name: Uint8Array | undefined }, record: Uint8Array | undefined,
): Uint8Array {
  const { core, native, process } = environment()
  const held = memory[memoryClaim]('export')
  const offset = checkRange(from, 0, held.nbytes, 'export')
  const nbytes = checkNbytes(wanted === undefined ? held.nbytes - offset : wanted)
  checkRange(offset, nbytes, held.nbytes, 'export')
  const created = Date.now()
  const allocation = memory[memoryAllocation]
  const sealer = new Sealer(core, {
    kind: 'memory',
    backend: memory.device.backend,
    layout: 'host', // until the driver has said which it is
    deviceUuid: memory.device.uuidBytes,
    allocationSize: allocation.nbytes,
    offset: held.offset + offset,
    nbytes,
    allocationId: allocation.id,
    pid: process.pid,
    startTime: process.startTime,
    pidNamespace: process.pidNamespace,
    bootId: process.bootId,
    created,
    expires: expiry(created, ttl),
    nonce: nextNonce(),
  })
  const entriesAt = core.scratchAt
  const length = checked(() => native.get(held.claim, held.offset + offset, core.u8, sealer.nextBytesAt, HANDLE_CAPACITY, entriesAt, ENTRIES_CAPACITY))
  try {
    sealer.layout(core.u8[entriesAt + 4]!)
    sealer.sectionInPlace(SECTIONS.handle, 1, length)
    const count = core.u8[entriesAt]!
    if (count > 0) sealer.section(SECTIONS.descriptors, 1, core.u8.slice(entriesAt + 8, entriesAt + 8 + 24 * count))
    if (sections.array !== undefined) sealer.section(SECTIONS.array, 0, sections.array)
    if (sections.name !== undefined) sealer.section(SECTIONS.name, 0, sections.name)
    return sealer.end(record)
  } catch (error) {
    native.put(held.claim)
    throw error
  }
}

// Asking for 16 random bytes takes as long as asking for thousands.
const random = new Uint8Array(4096)
let randomUsed = random.length

function nextNonce(): Uint8Array {
  if (randomUsed === random.length) {
    crypto.getRandomValues(random)
    randomUsed = 0
  }
  return random.slice(randomUsed, (randomUsed += 16))
}

function expiry(created: number, ttl: unknown): number {
  if (ttl === undefined) return 0
  if (typeof ttl !== 'number') throw typeError('invalid-ttl', 'ttl must be a number of milliseconds')
  if (!Number.isSafeInteger(created + ttl) || ttl <= 0) throw rangeError('invalid-ttl', `ttl must be an integer > 0 in milliseconds, not ${ttl}`)
  return created + ttl
}
