/** A regular file that is read while nobody may change it. */
import { constants, type BigIntStats } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { checkSignal } from '../copy.ts'
import type { Device } from '../device.ts'
import { StateError, typeError } from '../errors.ts'
import { MemoryUSMDevice } from '../memory.ts'
import { checkOptions } from '../options.ts'

export interface LoadOptions {
  signal?: AbortSignal
  /** Called with the bytes done and all bytes, after each piece of at most 8 MiB. */
  onProgress?: (done: number, total: number) => void
  /** What importers may do; see `AllocationOptions`. */
  sharing?: 'readWrite' | 'readOnly'
}

/** One piece is read while the other is copied: 16 MiB, whatever the file's size. */
const PIECE = 8 << 20

type Identity = readonly bigint[]

export class Source {
  readonly path: string
  /** Bytes. */
  readonly size: number
  readonly #file: FileHandle
  readonly #identity: Identity

  private constructor(path: string, file: FileHandle, size: number, identity: Identity) {
    this.path = path
    this.#file = file
    this.size = size
    this.#identity = identity
  }

  static async open(path: string): Promise<Source> {
    if (typeof path !== 'string') throw typeError('invalid-path', `the path of a file is a string, not ${typeof path}`)
    // A pipe would wait for its other end.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stat = await file.stat({ bigint: true })
      if (!stat.isFile()) throw typeError('not-a-file', `${path} is not a regular file`)
      return new Source(path, file, Number(stat.size), identity(stat))
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Fills `target` from `position` on. */
  async read(target: Uint8Array, position: number): Promise<Uint8Array> {
    for (let done = 0; done < target.length; ) {
      const { bytesRead } = await this.#file.read(target, done, target.length - done, position + done)
      if (bytesRead === 0) throw this.#changed()
      done += bytesRead
    }
    return target
  }

  /** Throws where the file is not what it was when it was opened. */
  async checkUnchanged(): Promise<void> {
    const now = identity(await this.#file.stat({ bigint: true }))
    if (now.some((part, i) => part !== this.#identity[i])) throw this.#changed()
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  #changed(): StateError {
    return new StateError('file-changed', `${this.path} was changed while it was read`)
  }
}

/** Size and times: what writing to a file changes. */
function identity({ size, mtimeNs, ctimeNs }: BigIntStats): Identity {
  return [size, mtimeNs, ctimeNs]
}

export function checkLoadOptions(options: LoadOptions, where: string): void {
  checkOptions(options, ['signal', 'onProgress', 'sharing'], where)
  checkSignal(options.signal, where)
  if (options.onProgress !== undefined && typeof options.onProgress !== 'function') {
    throw typeError('invalid-options', `${where}: onProgress must be a function`)
  }
}

/** New memory of the device that holds the file's bytes from `from` on; at least one byte. Nothing is left of it on an error. */
export async function loadRange(source: Source, from: number, device: Device | string | undefined, options: LoadOptions): Promise<MemoryUSMDevice> {
  const { signal, onProgress, sharing } = options
  signal?.throwIfAborted()
  const total = source.size - from
  const memory = new MemoryUSMDevice(total, { ...(device === undefined ? {} : { device }), ...(sharing === undefined ? {} : { sharing }) })
  let reading: Promise<Uint8Array> | undefined
  try {
    const buffers = [new Uint8Array(Math.min(PIECE, total)), new Uint8Array(Math.min(PIECE, Math.max(0, total - PIECE)))]
    const start = (at: number): Promise<Uint8Array> | undefined => {
      const buffer = buffers[(at / PIECE) % 2]!
      return at >= total ? undefined : source.read(buffer.subarray(0, Math.min(PIECE, total - at)), from + at)
    }
    reading = start(0)
    for (let at = 0; at < total; at += PIECE) {
      const piece = await reading!
      reading = start(at + PIECE)
      memory.copyFrom(piece, at)
      onProgress?.(at + piece.length, total)
      signal?.throwIfAborted()
    }
    await source.checkUnchanged()
    return memory
  } catch (error) {
    // What is being read goes into a buffer of ours: it has to end before the file is closed.
    await reading?.catch(() => {})
    memory.close()
    throw error
  }
}
