/** One hand-made envelope a layout, with a section of every type: what the cases break. */
import { seal, type EnvelopeHeader, type EnvelopeKey, type EnvelopeSections, type LayoutName } from '../../../host/core/index.ts'
import { HEADER_LENGTH, sectionsOf } from './forge.ts'
import { BACKEND_OF, EVENT_SIZE, kindOf, neededDescriptors } from './generate.ts'
import { vendorHandle } from './handles.ts'
import type { Source } from './source.ts'

/** Always the smallest choice: Level Zero handles are of the opaque form inside SYCL ones, and zero at their ends. */
const SMALLEST: Source = {
  int: (min) => min,
  u64: () => 0x1122_3344_5566_7788n,
  bytes: (length) => new Uint8Array(length).fill(0x5a),
}

export const SIZE = 0x10_0000
export const OFFSET = 0x1000
export const NBYTES = 0x2000
export const PID = 4242
export const CREATED = 1_700_000_000_000
export const EXPIRES = 1_700_000_060_000
/** What authenticates the envelopes of these tests. */
export const KEY: EnvelopeKey = { id: 7, key: Uint8Array.from({ length: 32 }, (_, i) => 0xa0 ^ (i * 37)) }
const IDENTITY = { stDev: 0x31n, stIno: 0x1234n }

export function baseHeader(layout: LayoutName): EnvelopeHeader {
  return {
    kind: kindOf(layout), backend: BACKEND_OF[layout], layout, deviceUuid: new Uint8Array(16).fill(0x11),
    ...extent(layout), allocationId: new Uint8Array(16).fill(0x22), pid: PID, startTime: 77n,
    pidNamespace: 4026531836n, bootId: new Uint8Array(16).fill(0x33), created: CREATED, expires: EXPIRES, nonce: new Uint8Array(16).fill(0x44),
  }
}

function extent(layout: LayoutName): Pick<EnvelopeHeader, 'allocationSize' | 'offset' | 'nbytes'> {
  return kindOf(layout) === 'event' ? { allocationSize: EVENT_SIZE, offset: 0, nbytes: EVENT_SIZE } : { allocationSize: SIZE, offset: OFFSET, nbytes: NBYTES }
}

export function baseHandle(layout: LayoutName): Uint8Array {
  return vendorHandle(SMALLEST, layout, { pid: PID, allocationSize: SIZE, offset: OFFSET, ...IDENTITY })
}

/** The least sections that an envelope of the layout is valid with. */
export function leastSections(layout: LayoutName): EnvelopeSections {
  const descriptors = neededDescriptors(layout, IDENTITY)
  return { handle: baseHandle(layout), ...(descriptors && { descriptors }) }
}

const made = new Map<LayoutName, Uint8Array>()

export function base(layout: LayoutName): Uint8Array {
  let bytes = made.get(layout)
  if (bytes === undefined) {
    bytes = seal(baseHeader(layout), {
      handle: baseHandle(layout),
      further: [{ role: 2, bytes: new Uint8Array(12).fill(0x66) }],
      descriptors: neededDescriptors(layout, IDENTITY) ?? [{ kind: 'memfd', ...IDENTITY }],
      array: { code: 2, bits: 32, lanes: 1, shape: [kindOf(layout) === 'event' ? 2 : 4, 8], strides: [8, 1] },
      name: 'weights',
      unknown: [{ type: 6, critical: false, bytes: new Uint8Array(5).fill(0x77) }],
    })
    made.set(layout, bytes)
  }
  return bytes
}

/** Address of the header of the first section of a type in the base envelope; its bytes begin 8 further. */
export function sectionAt(layout: LayoutName, type: number): number {
  return sectionsOf(base(layout)).find((s) => s.type === type)!.at
}

export const HANDLE_AT = HEADER_LENGTH + 8
