/** The contract's terms: a case is plain data, and a backend says what it needs to be asked differently. */
import type { IPCMemoryHandle, MemoryIPCDevice, OpenOptions } from '../../host/index.ts'

export interface BackendUnderTest {
  name: string
  /** Selects one device of it. */
  selector: string
  /** Its memory can be shared read-only, and viewed from JavaScript. */
  readOnlySharing: boolean
  hostAddressable: boolean
  /** Opens as another process would, but in this one: a driver mapping of its own. Absent where the driver refuses that. */
  openMapped?(handle: IPCMemoryHandle, nbytes?: number, options?: OpenOptions): MemoryIPCDevice
  /** Opens in another process. */
  openElsewhere(handle: IPCMemoryHandle, nbytes?: number): Promise<Elsewhere>
}

/** A mapping in another process. */
export interface Elsewhere {
  readonly nbytes: number
  readonly readOnly: boolean
  read(offset: number, nbytes: number): Promise<Uint8Array>
  write(offset: number, bytes: Uint8Array): Promise<void>
  /** Opens something there, and gives the error's code or 'ok'. */
  tryOpen(bytes: Uint8Array, options?: { withDescriptor?: IPCMemoryHandle }): Promise<string>
  /** Closes the mapping and ends the process; gives what its books then hold. */
  end(): Promise<{ live: number; resources: number }>
}

export interface ContractCase {
  name: string
  /** Runs in every runtime: no child processes, no files. */
  smoke?: boolean
  /** Makes views, whose claims end with garbage collection. */
  collects?: boolean
  run(backend: BackendUnderTest): void | Promise<void>
}
