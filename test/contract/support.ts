import { IPCMemoryHandle, MemoryUSMDevice, type AllocationOptions, type ExportOptions, type OpenOptions, type UsmMemory } from '../../host/index.ts'
import { ipcOption } from '../support/ipc.ts'
import type { BackendUnderTest } from './types.ts'

export const NBYTES = 4096

export function allocate(backend: BackendUnderTest, nbytes = NBYTES, options: AllocationOptions = {}): MemoryUSMDevice {
  return new MemoryUSMDevice(nbytes, { device: backend.selector, ...ipcOption(), ...options })
}

/** Byte i is a function of i that no shift of whole pages or words leaves alone. */
export function pattern(nbytes: number, from = 0): Uint8Array {
  return Uint8Array.from({ length: nbytes }, (_, i) => ((from + i) * 167 + ((from + i) >> 8)) & 0xff)
}

export function bytesOf(memory: UsmMemory, offset = 0, nbytes = memory.nbytes - offset): Uint8Array {
  const bytes = new Uint8Array(nbytes)
  memory.copyTo(bytes, offset)
  return bytes
}

/** Memory with the pattern in it, and its export. Both close with `using`. */
export function exported(backend: BackendUnderTest, nbytes = NBYTES, options: ExportOptions & AllocationOptions = {}): Exported {
  const { sharing, device = backend.selector, ...exporting } = options
  const memory = new MemoryUSMDevice(nbytes, { device, ...ipcOption(), ...(sharing === undefined ? {} : { sharing }) })
  try {
    memory.copyFrom(pattern(nbytes))
    const handle = new IPCMemoryHandle(memory, exporting)
    return { memory, handle, bytes: handle.toBytes(), [Symbol.dispose]: () => (handle.close(), memory.close()) }
  } catch (error) {
    memory.close()
    throw error
  }
}

/** The descriptor that goes with it, where one does. */
export function withDescriptor(handle: IPCMemoryHandle): OpenOptions {
  const [descriptor] = handle.descriptors
  return descriptor === undefined ? {} : { descriptor }
}

export interface Exported extends Disposable {
  memory: MemoryUSMDevice
  handle: IPCMemoryHandle
  bytes: Uint8Array
}

/** Says aloud that a case does not apply, instead of passing in silence. */
export function notHere(what: string): void {
  console.log(`skipped: ${what}`)
}
