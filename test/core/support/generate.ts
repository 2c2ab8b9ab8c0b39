/** Everything that can be sealed: all layouts with handles that agree, descriptors, arrays, names, unknown sections. */
import fc from 'fast-check'
import {
  FURTHER_ROLES, LAYOUTS, toHex, toUuid,
  type ArrayMetadata, type BackendName, type Envelope, type EnvelopeHeader, type EnvelopeSections, type KindName, type LayoutName,
  type WantedDescriptor,
} from '../../../host/core/index.ts'
import { anyPid, vendorHandle, type Shared } from './handles.ts'
import { anyMagnitude, chance, fromFastCheck, pick, type Source } from './source.ts'

export interface Plan {
  header: EnvelopeHeader
  sections: EnvelopeSections
}

export const LAYOUT_NAMES = Object.keys(LAYOUTS) as LayoutName[]
export const BACKEND_OF: Record<LayoutName, BackendName> = {
  host: 'host',
  'sycl-umf-level-zero-v2': 'sycl', 'sycl-umf-level-zero-v1': 'sycl', 'sycl-umf-cuda': 'sycl',
  'level-zero-classic': 'level_zero', 'level-zero-opaque': 'level_zero',
  cuda: 'cuda', 'torch-cuda': 'cuda', 'cuda-vmm': 'cuda', 'cuda-pool': 'cuda', 'cuda-event': 'cuda',
}
export const kindOf = (layout: LayoutName): KindName => (layout === 'cuda-event' ? 'event' : 'memory')
/** Bytes of an event's handle, and what an envelope of one says of sizes. */
export const EVENT_SIZE = 64
const MAX = Number.MAX_SAFE_INTEGER

export function plan(from: Source): Plan {
  const layout = pick(from, LAYOUT_NAMES)
  const { allocationSize, offset, nbytes } = kindOf(layout) === 'event' ? { allocationSize: EVENT_SIZE, offset: 0, nbytes: EVENT_SIZE } : range(from)
  const created = anyMagnitude(from, 0, MAX)
  const shared: Shared = { pid: anyPid(from), allocationSize, offset, stDev: from.u64(), stIno: nonZero(from.u64()) }
  const header: EnvelopeHeader = {
    kind: kindOf(layout), backend: BACKEND_OF[layout], layout, deviceUuid: from.bytes(16), allocationSize, offset, nbytes,
    allocationId: allocationId(from), pid: shared.pid, startTime: from.u64(), pidNamespace: from.u64(), bootId: from.bytes(16),
    created, expires: chance(from, 50) ? 0 : from.int(created, MAX), nonce: from.bytes(16),
  }
  const sections: EnvelopeSections = { handle: vendorHandle(from, layout, shared) }
  const wanted = descriptors(from, layout, shared)
  if (wanted !== undefined) sections.descriptors = wanted
  if (chance(from, 30)) sections.further = further(from)
  if (chance(from, 50)) sections.array = array(from, nbytes)
  if (chance(from, 50)) sections.name = name(from)
  if (chance(from, 30)) sections.unknown = unknown(from)
  return { header, sections }
}

export const plans = (): fc.Arbitrary<Plan> => fc.gen().map((gen) => plan(fromFastCheck(gen)))

/** What decoding the sealed plan must give. */
export function expected({ header: h, sections: s }: Plan, version = { major: 0, minor: 0 }): Envelope {
  return {
    version, kind: h.kind, backend: h.backend, layout: h.layout, deviceUuid: toUuid(h.deviceUuid),
    allocationSize: h.allocationSize, offset: h.offset, nbytes: h.nbytes, allocationId: toHex(h.allocationId), pid: h.pid, keyId: 0,
    startTime: exact(h.startTime), pidNamespace: exact(h.pidNamespace), bootId: toUuid(h.bootId),
    created: h.created, expires: h.expires, nonce: toHex(h.nonce),
    handle: s.handle,
    further: [...(s.further ?? [])],
    event: s.further?.find(({ role }) => role === FURTHER_ROLES.event)?.bytes,
    descriptors: (s.descriptors ?? []).map((d) => ({ kind: d.kind, stDev: exact(d.stDev), stIno: exact(d.stIno) })),
    array: s.array && { code: s.array.code, bits: s.array.bits, lanes: s.array.lanes, shape: [...s.array.shape], strides: [...s.array.strides!] },
    name: s.name,
    unknown: (s.unknown ?? []).map(({ type, bytes }) => ({ type, bytes })),
  }
}

function exact(value: bigint): number | bigint {
  return value <= BigInt(MAX) ? Number(value) : value
}

function nonZero(value: bigint): bigint {
  return value === 0n ? 1n : value
}

function allocationId(from: Source): Uint8Array {
  const id = from.bytes(16)
  id[from.int(0, 7)]! ||= 1
  id[from.int(8, 15)]! ||= 1
  return id
}

function some<T>(from: Source, least: number, most: number, one: (i: number) => T): T[] {
  return Array.from({ length: from.int(least, most) }, (_, i) => one(i))
}

function range(from: Source): { allocationSize: number; offset: number; nbytes: number } {
  const allocationSize = anyMagnitude(from, 1, MAX)
  const offset = chance(from, 30) ? 0 : anyMagnitude(from, 0, allocationSize - 1)
  const nbytes = chance(from, 30) ? allocationSize - offset : anyMagnitude(from, 1, allocationSize - offset)
  return { allocationSize, offset, nbytes }
}

/** Of roles that nobody knows, and an event among them. */
function further(from: Source): { role: number; bytes: Uint8Array }[] {
  const handles = some(from, 1, 3, () => ({ role: anyMagnitude(from, FURTHER_ROLES.event + 1, 0xffff_ffff), bytes: from.bytes(from.int(1, 40)) }))
  if (chance(from, 50)) handles[from.int(0, handles.length - 1)] = { role: FURTHER_ROLES.event, bytes: from.bytes(EVENT_SIZE) }
  return handles
}

function descriptors(from: Source, layout: LayoutName, shared: Shared): WantedDescriptor[] | undefined {
  const wanted = neededDescriptors(layout, shared)
  if (wanted !== undefined) return wanted
  if (chance(from, 50)) return undefined
  return some(from, 1, chance(from, 10) ? 16 : 3, () => {
    const kind = pick(from, ['memfd', 'dma-buf', 'opaque'] as const)
    return kind === 'opaque' ? { kind, stDev: 0n, stIno: 0n } : { kind, stDev: from.u64(), stIno: nonZero(from.u64()) }
  })
}

/** Those without which the layout's handle is refused. */
export function neededDescriptors(layout: LayoutName, { stDev, stIno }: Pick<Shared, 'stDev' | 'stIno'>): WantedDescriptor[] | undefined {
  if (layout === 'host') return [{ kind: 'memfd', stDev, stIno }]
  return layout === 'cuda-vmm' || layout === 'cuda-pool' ? [{ kind: 'opaque', stDev: 0n, stIno: 0n }] : undefined
}

/** Dimensions in any order of strides, with gaps and broadcasts, that reach no further than nbytes. */
function array(from: Source, nbytes: number): ArrayMetadata {
  const code = from.int(0, 6)
  const bits = pick(from, [1, 4, 8, 16, 32, 64, 128, from.int(1, 255)])
  const lanes = chance(from, 80) ? 1 : from.int(1, 65535)
  const elements = Math.min(MAX, Math.floor((nbytes * 8) / (bits * lanes)))
  const ndim = from.int(elements === 0 ? 1 : 0, chance(from, 10) ? 32 : 4)
  const shape = Array.from({ length: ndim }, () => 1)
  const strides = Array.from({ length: ndim }, () => 1)
  let reach = 1 // elements in use so far
  for (const i of shuffled(from, ndim)) {
    const stride = chance(from, 10) ? 0 : Math.min(MAX, anyMagnitude(from, reach, Math.max(reach, Math.min(elements, 4 * reach))))
    const most = stride === 0 ? 1000 : 1 + Math.floor((elements - reach) / stride)
    shape[i] = anyMagnitude(from, 1, Math.max(1, most))
    strides[i] = stride
    reach += (shape[i]! - 1) * stride
  }
  if (elements === 0 || (ndim > 0 && chance(from, 5))) shape[from.int(0, ndim - 1)] = 0
  return { code, bits, lanes, shape, strides }
}

function shuffled(from: Source, n: number): number[] {
  const order = Array.from({ length: n }, (_, i) => i)
  for (let i = n - 1; i > 0; i--) {
    const j = from.int(0, i)
    ;[order[i], order[j]] = [order[j]!, order[i]!]
  }
  return order
}

const RANGES = [[0x20, 0x7e], [0xa0, 0x7ff], [0x800, 0xd7ff], [0xe000, 0xffff], [0x10000, 0x10ffff], [0xfeff, 0xfeff]] as const

function name(from: Source): string {
  const most = chance(from, 20) ? 255 : 24
  const least = from.int(1, most)
  let text = ''
  for (let length = 0; length < least; ) {
    const [low, high] = pick(from, RANGES)
    const point = from.int(low, high)
    length += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
    if (length > 255) return text
    text += String.fromCodePoint(point)
  }
  return text
}

function unknown(from: Source): { type: number; critical: boolean; bytes: Uint8Array }[] {
  let type = 5
  return some(from, 1, 4, () => {
    type = from.int(type + 1, type + (chance(from, 20) ? 10000 : 3))
    return { type, critical: false, bytes: from.bytes(chance(from, 10) ? from.int(0, 300) : from.int(0, 40)) }
  })
}
