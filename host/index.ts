/**
 * Share device memory between processes: export, check, open, close.
 *
 * @module
 */
export {
  describeArray, toArrayMetadata,
  type ArrayDescription, type ArrayLike, type Description, type Dtype, type DtypeName, type NamedArray,
} from './array.ts'
export { ledger, type LedgerReport, type ProcessReport } from './books.ts'
export { decode, inspect, validate } from './core/index.ts'
export type {
  ArrayMetadata, BackendName, ClaimKind, Envelope, Field, InspectOptions, Inspection, LayoutName, LedgerRecord, Policy, VerdictName,
} from './core/index.ts'
export type { CopyOptions } from './copy.ts'
export { Descriptor } from './descriptor.ts'
export type { DescriptorOptions } from './descriptor_search.ts'
export { Device, listBackends, listDevices, selectDevice, type BackendStatus, type DeviceType } from './device.ts'
export { DriverError, FormatError, HandleError, PeerError, StateError, UsmIpcError, isUsmIpcError } from './errors.ts'
export { IPCEvent, type EventExportOptions, type EventOpenOptions, type EventWaitOptions } from './event.ts'
export type { ExportOptions } from './export.ts'
export { IPCMemoryHandle, authenticateEnvelope, closeMemHandle, getMemHandle, openMemHandle } from './handle.ts'
export {
  MemoryIPCDevice, MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared, UsmMemory,
  type AllocationOptions, type UsmType,
} from './memory.ts'
export type { Lease } from './held.ts'
export type { EnvelopeKey } from './keys.ts'
export type { OpenOptions, OpenVendorOptions } from './open.ts'
export { LoadedFile, loadFile, loadSafetensors } from './safetensors/load.ts'
export type { Tensor } from './safetensors/header.ts'
export type { LoadOptions } from './safetensors/source.ts'
export { publishTensors, type PublishTensorsOptions } from './safetensors/publish.ts'
export { openTorchStorage, type TorchOpenOptions, type TorchStorage, type TorchTuple } from './torch.ts'
export { connect, type ConnectOptions } from './sharing/connect.ts'
export { listen, type Exporter, type ExporterEvents, type ExporterLease, type PublicationReport } from './sharing/exporter.ts'
export type { ExporterOptions, PublishOptions, UnpublishOptions } from './sharing/exporter_options.ts'
export type { Limits } from './sharing/limits.ts'
export type { Metadata, MetadataValue } from './sharing/metadata.ts'
export type { Peer } from './sharing/peer.ts'
export type { Listing } from './sharing/entries.ts'
export type { ListOptions, Session, SessionEvents, SessionLeaseReport, SessionOpenOptions } from './sharing/session.ts'
export { FdChannel, type Frame, type ReceiveOptions, type SendOptions } from './sharing/fd_channel.ts'
export { FdListener, type ListenOptions } from './sharing/fd_listener.ts'
export type { RequestOptions } from './sharing/request.ts'
