import { checkNbytes, checkRange } from './arguments.ts'
import { toArrayMetadata, type ArrayLike } from './array.ts'
import { arrayBytes, nameBytes, Sealer } from './core/seal.ts'
import { FURTHER_ROLES, SECTIONS } from './core/names.generated.ts'
import { environment } from './environment.ts'
import { checked, typeError } from './errors.ts'
import { IPCEvent, eventClaim } from './event.ts'
import { keyRecord, type EnvelopeKey } from './keys.ts'
import { memoryAllocation, memoryClaim, type MemoryUSMDevice } from './memory.ts'
import { HANDLE_CAPACITY, exporterFields } from './sealing.ts'

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
  /**
   * An event of the memory's device that was recorded behind the work that fills the memory: it travels in the envelope,
   * and who opens that waits for it. Without one the export itself waits until the device has done all that it was given.
   */
  event?: IPCEvent
}

export const EXPORT_OPTIONS = ['offset', 'nbytes', 'name', 'array', 'ttl', 'key', 'event']

/** Room for descriptor entries. */
const ENTRIES_CAPACITY = 8 + 16 * 24

/** The envelope around what the driver gives for the memory. The vendor handle goes from the addon straight into the core. */
export function sealExport(memory: MemoryUSMDevice, options: ExportOptions): Uint8Array {
  // Reading options can run the caller's code: all of it before the envelope is begun.
  const { offset: from = 0, nbytes: wanted, name, array, ttl, key, event } = options
  const carried = event === undefined ? undefined : carriedEvent(event, memory)
  const sections = { array: array === undefined ? undefined : arrayBytes(toArrayMetadata(array)), name: name === undefined ? undefined : nameBytes(name) }
  const record = key === undefined ? undefined : keyRecord(key, 'export: key')
  try {
    return sealRange(memory, { from, wanted, ttl }, sections, carried, record)
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
  memory: MemoryUSMDevice, { from, wanted, ttl }: Extent, sections: { array: Uint8Array | undefined; name: Uint8Array | undefined },
  event: number | undefined, record: Uint8Array | undefined,
): Uint8Array {
  const { core, native, process } = environment()
  const held = memory[memoryClaim]('export')
  const offset = checkRange(from, 0, held.nbytes, 'export')
  const nbytes = checkNbytes(wanted === undefined ? held.nbytes - offset : wanted)
  checkRange(offset, nbytes, held.nbytes, 'export')
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
    ...exporterFields(process, ttl),
  })
  const entriesAt = core.scratchAt
  const length = checked(() => native.get(held.claim, held.offset + offset, core.u8, sealer.nextBytesAt, HANDLE_CAPACITY, entriesAt, ENTRIES_CAPACITY, event === undefined))
  try {
    sealer.layout(core.u8[entriesAt + 4]!)
    sealer.sectionInPlace(SECTIONS.handle, 1, length)
    if (event !== undefined) {
      // u32 role, u32 zero, then the event's handle, from the addon straight into the core.
      const at = sealer.nextBytesAt
      const bytes = checked(() => native.getEvent(event, core.u8, at + 8, HANDLE_CAPACITY))
      const view = new DataView(core.u8.buffer, at, 8)
      view.setUint32(0, FURTHER_ROLES.event, true)
      view.setUint32(4, 0, true)
      sealer.sectionInPlace(SECTIONS['further-handle'], 1, 8 + bytes)
    }
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

// Its claim, while it is an open one of this process.
function carriedEvent(event: unknown, memory: MemoryUSMDevice): number {
  if (!(event instanceof IPCEvent)) throw typeError('invalid-event', 'export: event must be an IPCEvent')
  if (event.device.uuid !== memory.device.uuid || event.device.backend !== memory.device.backend) {
    throw typeError('wrong-device', `export: the event is of ${event.device.selector}, the memory of ${memory.device.selector}`)
  }
  return event[eventClaim]('export: event')
}
