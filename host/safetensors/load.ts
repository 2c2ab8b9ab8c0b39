/** Files into device memory: one allocation a file, whatever is in it. */
import type { ArrayLike } from '../array.ts'
import { toArrayMetadata } from '../array.ts'
import type { Device } from '../device.ts'
import { FormatError } from '../errors.ts'
import type { MemoryUSMDevice } from '../memory.ts'
import { LENGTH_BYTES, headerLength, parseHeader, type Tensor } from './header.ts'
import { Source, checkLoadOptions, loadRange, type LoadOptions } from './source.ts'

/** A file's data in memory, and what lies where in it. `close()` closes the memory. */
export class LoadedFile implements Disposable {
  /** The file's data section as it stands in the file, so tensors are aligned as they are there. */
  readonly memory: MemoryUSMDevice
  /** In the order of the data. Empty ones have `nbytes` 0: there is nothing of them to publish. */
  readonly tensors: readonly Tensor[]
  /** The file's own `__metadata__`. */
  readonly metadata: Readonly<Record<string, string>>

  /** @internal */
  constructor(memory: MemoryUSMDevice, tensors: readonly Tensor[], metadata: Record<string, string>) {
    this.memory = memory
    this.tensors = tensors
    this.metadata = metadata
  }

  close(): void {
    this.memory.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/**
 * Loads a safetensors file into one allocation. It streams: beside that allocation and the header it takes 16 MiB.
 *
 * @param device - a device or a selector; `selectDevice()` chooses where it is left out
 * @throws FormatError where the file breaks a rule of the format; StateError `ERR_USM_IPC_FILE_CHANGED` where it is changed
 *   meanwhile; the system's errors (`ENOENT`); the signal's reason
 * @example
 * ```ts
 * import { mkdtempSync, writeFileSync } from 'node:fs'
 * import { loadSafetensors } from 'usm-ipc'
 *
 * const header = new TextEncoder().encode('{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}')
 * const path = `${mkdtempSync('/tmp/example-')}/model.safetensors`
 * writeFileSync(path, Buffer.concat([new BigUint64Array([BigInt(header.length)]), header, new Float32Array([1, 2])].map((b) => Buffer.from(b.buffer))))
 *
 * using file = await loadSafetensors(path, 'host')
 * console.assert(file.memory.nbytes === 8 && file.tensors[0]?.name === 'w')
 * ```
 */
export async function loadSafetensors(path: string, device?: Device | string, options: LoadOptions = {}): Promise<LoadedFile> {
  checkLoadOptions(options, 'loadSafetensors')
  const source = await Source.open(path)
  try {
    const start = await source.read(new Uint8Array(Math.min(LENGTH_BYTES, source.size)), 0)
    const header = await source.read(new Uint8Array(headerLength(start, source.size)), LENGTH_BYTES)
    const { tensors, metadata, dataOffset, dataBytes } = parseHeader(header, source.size)
    if (dataBytes === 0) throw new FormatError('no-data', `${path} has no data: there is nothing to load`)
    return new LoadedFile(await loadRange(source, dataOffset, device, options), tensors, metadata)
  } finally {
    await source.close()
  }
}

/**
 * Loads any file into one allocation: a single array of bytes, or what `array` says.
 *
 * @param name - of the one tensor that it is
 */
export async function loadFile(
  path: string, device: Device | string | undefined, name: string, options: LoadOptions & { array?: ArrayLike } = {},
): Promise<LoadedFile> {
  const { array, ...loading } = options
  checkLoadOptions(loading, 'loadFile')
  const source = await Source.open(path)
  try {
    if (source.size === 0) throw new FormatError('no-data', `${path} is empty: there is nothing to load`)
    const metadata = toArrayMetadata(array ?? { dtype: 'uint8', shape: [source.size] })
    const memory = await loadRange(source, 0, device, loading)
    return new LoadedFile(memory, [{ name, offset: 0, nbytes: source.size, array: metadata }], {})
  } finally {
    await source.close()
  }
}
