/**
 * Share device memory between processes: export, check, open, close.
 *
 * @module
 */
export { ledger, type LedgerReport, type ProcessReport } from './books.ts'
export { decode, inspect, validate } from './core/index.ts'
export type {
  ArrayMetadata, BackendName, ClaimKind, Envelope, Field, InspectOptions, Inspection, LayoutName, LedgerRecord, Policy, VerdictName,
} from './core/index.ts'
export type { CopyOptions } from './copy.ts'
export { Descriptor } from './descriptor.ts'
export type { DescriptorOptions } from './descriptor_search.ts'
export { Device, listBackends, listDevices, selectDevice, type BackendStatus, type DeviceType } from './device.ts'
export { DriverError, HandleError, PeerError, StateError, UsmIpcError, isUsmIpcError } from './errors.ts'
export type { ExportOptions } from './export.ts'
export { IPCMemoryHandle, closeMemHandle, getMemHandle, openMemHandle } from './handle.ts'
export {
  MemoryIPCDevice, MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared, UsmMemory,
  type AllocationOptions, type UsmType,
} from './memory.ts'
export type { OpenOptions, OpenVendorOptions } from './open.ts'
export { FdChannel, type Frame, type SendOptions } from './sharing/fd_channel.ts'
export { FdListener, type ListenOptions } from './sharing/fd_listener.ts'
export type { RequestOptions } from './sharing/request.ts'
