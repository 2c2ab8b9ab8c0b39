/** Where a vendor handle keeps what this side of the addon needs of it. Offsets in bytes; little-endian. */
import { LAYOUTS, type LayoutName } from './core/names.generated.ts'

export interface LayoutTraits {
  name: LayoutName
  /** Of the handle, in bytes. */
  length: number
  /**
   * What travels beside it: a descriptor whose file the envelope names, one that has no identity (CUDA's are all the same
   * device file), or none.
   */
  descriptor: 'identified' | 'opaque' | 'none'
  /** i32: the descriptor's number in the exporter, where the handle says it. */
  fd?: number
  /** i32: the exporter's pid. */
  pid?: number
  /** u64: size of the base allocation. */
  size?: number
  /** u64: offset of the exported pointer in the base allocation. */
  offset?: number
  /** Bit 0 of this byte: shared read-only. */
  flags?: number
  /** CUDA leaves it undefined what a mapping is once the exporter has freed the memory. */
  endsWithMemory?: boolean
}

const TRAITS: Partial<Record<LayoutName, Omit<LayoutTraits, 'name'>>> = {
  host: { length: 32, descriptor: 'identified', fd: 24, size: 16, flags: 28 },
  'level-zero-classic': { length: 64, descriptor: 'identified', fd: 0 },
  'level-zero-opaque': { length: 64, descriptor: 'identified', fd: 0, pid: 16 },
  'sycl-umf-level-zero-v1': { length: 108, descriptor: 'identified', fd: 44, pid: 16, size: 24, offset: 32 },
  'sycl-umf-level-zero-v2': { length: 120, descriptor: 'identified', fd: 56, pid: 16, size: 24, offset: 32 },
  cuda: { length: 64, descriptor: 'none', endsWithMemory: true },
  'torch-cuda': { length: 66, descriptor: 'none', endsWithMemory: true },
  'cuda-vmm': { length: 32, descriptor: 'opaque', fd: 8 },
  'cuda-pool': { length: 64, descriptor: 'opaque', endsWithMemory: true },
}

const byCode: (LayoutTraits | undefined)[] = []
for (const name of Object.keys(LAYOUTS) as LayoutName[]) {
  const traits = TRAITS[name]
  if (traits !== undefined) byCode[LAYOUTS[name]] = { name, ...traits }
}

/** Undefined for a layout that no backend of this version opens. */
export function layoutTraits(code: number): LayoutTraits | undefined {
  return byCode[code]
}
