/** The contract's terms: a case is plain data, and a backend says what it needs to be asked differently. */
import type { BackendName } from '../../host/core/index.ts'
import type { IPCMemoryHandle, MemoryIPCDevice, OpenOptions } from '../../host/index.ts'

export interface BackendUnderTest {
  name: BackendName
  /** What is special about it here, for titles: the form of its handles, an adapter. */
  variant?: string
  /** Selects one device of it. */
  selector: string
  /** Its memory can be shared read-only, and viewed from JavaScript. */
  readOnlySharing: boolean
  hostAddressable: boolean
  /** What travels beside a handle: a file that the envelope names, a descriptor without identity, or nothing. */
  descriptors: 'identified' | 'opaque' | 'none'
  /** A mapping outlives the exporter's memory by the driver's contract. */
  mappingStaysValid: boolean
  /** How many mappings its runtime keeps after they were closed, at most. */
  keepsMappings?: number
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

/** Whether the case is about what the backend has. */
export function applies({ needs, without }: ContractCase, backend: BackendUnderTest): boolean {
  return (needs === undefined || backend[needs]) && (without === undefined || !backend[without])
}

export interface ContractCase {
  name: string
  /** Runs in every runtime: no child processes, no files. */
  smoke?: boolean
  /** Makes views, whose claims end with garbage collection. */
  collects?: boolean
  /** Where the backend has not this, `without` holds instead: it refuses by name. */
  needs?: 'hostAddressable' | 'readOnlySharing'
  without?: 'hostAddressable' | 'readOnlySharing'
  run(backend: BackendUnderTest): void | Promise<void>
}
