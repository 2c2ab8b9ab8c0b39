/** What bytes alone cannot show, each with the reason: for who opens them, and for who only looks. */
import type { LayoutName } from './names.generated.ts'

const NO_TAG = 'authenticity: there is no tag; anybody could have made these bytes'
const LIVENESS = 'liveness: whether the exporter still runs and still holds the allocation'
const CUDA_LIVENESS = `${LIVENESS}: CUDA's driver does not tell a handle whose memory was freed; a session does`
const EVENT_LIVENESS = 'liveness: whether the exporter still runs and still holds the event'
const CUDA_DESCRIPTOR = "the descriptor: CUDA's have no file identity, so that it is the one of this export was not checked"
const DESCRIPTOR = 'the descriptor: it travels beside the bytes and is checked at open'

interface Notes {
  /** Beside what is said of its tag. */
  rest: readonly string[]
  withoutTag: readonly string[]
}

function notes(...rest: string[]): Notes {
  return { rest, withoutTag: [NO_TAG, ...rest] }
}

const ANY = notes(LIVENESS)
const LEASED = notes()
const CUDA = notes(CUDA_LIVENESS)
const CUDA_WITH_DESCRIPTOR = notes(CUDA_LIVENESS, CUDA_DESCRIPTOR)
const EVENT = notes(EVENT_LIVENESS)

/** Of the others, ANY is said. */
const OF_LAYOUT: Partial<Record<LayoutName, Notes>> = {
  cuda: CUDA, 'torch-cuda': CUDA, 'sycl-umf-cuda': CUDA, 'cuda-vmm': CUDA_WITH_DESCRIPTOR, 'cuda-pool': CUDA_WITH_DESCRIPTOR, 'cuda-event': EVENT,
}

export interface Opening {
  layout?: LayoutName | undefined
  /** A session promised it: the exporter runs and holds it, and the descriptor came with its answer. */
  hasLease?: boolean
}

/**
 * What opening a valid envelope cannot show either.
 *
 * @param keyId - 0 for an envelope without a tag
 * @param checked - whether the tag was
 */
export function openUnchecked(keyId: number, checked: boolean, { layout, hasLease = false }: Opening = {}): readonly string[] {
  const { rest, withoutTag } = hasLease ? LEASED : notesOf(layout)
  if (keyId === 0) return withoutTag
  return checked ? rest : [`authenticity: authenticated with key ${keyId}, not checked; no keys were given`, ...rest]
}

function notesOf(layout: LayoutName | undefined): Notes {
  return (layout === undefined ? undefined : OF_LAYOUT[layout]) ?? ANY
}

/** What looking at an envelope cannot show: nothing was opened. */
export function inspectUnchecked(keyId: number, checked: boolean, layout: LayoutName | undefined): string[] {
  // CUDA's have no descriptor, or one that nothing can be checked of.
  return [...openUnchecked(keyId, checked, { layout }), ...(notesOf(layout) === ANY ? [DESCRIPTOR] : [])]
}

/** What no look at a raw vendor handle can show. */
export function vendorUnchecked(layout: LayoutName): string[] {
  return [
    'integrity: a raw handle has no checksum',
    'authenticity: anybody could have made these bytes',
    ...notesOf(layout).rest,
    'device, offset and nbytes: a raw handle does not say them all; the caller does',
  ]
}

/** The same for any layout. */
export const VENDOR_UNCHECKED: readonly string[] = vendorUnchecked('host')
