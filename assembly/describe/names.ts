// Field names and the names of coded values. docs/envelope.ksy uses the same ones.
import { BackendCode, DescriptorKind, FurtherRole, Kind, Layout, SectionType } from "../wire";
import { Field } from "./field";

export function fieldNameOf(id: i32): string {
  switch (id) {
    case Field.Magic: return "magic";
    case Field.Major: return "major";
    case Field.Minor: return "minor";
    case Field.HeaderLength: return "header_length";
    case Field.Flags: return "flags";
    case Field.TotalLength: return "total_length";
    case Field.Kind: return "kind";
    case Field.Backend: return "backend";
    case Field.Layout: return "layout";
    case Field.SectionCount: return "section_count";
    case Field.HeaderCheck: return "header_check";
    case Field.Reserved: return "reserved";
    case Field.DeviceUuid: return "device_uuid";
    case Field.AllocationSize: return "allocation_size";
    case Field.Offset: return "offset";
    case Field.Nbytes: return "nbytes";
    case Field.AllocationRandom: return "allocation_random";
    case Field.AllocationCounter: return "allocation_counter";
    case Field.Pid: return "pid";
    case Field.KeyId: return "key_id";
    case Field.StartTime: return "start_time";
    case Field.PidNamespace: return "pid_namespace";
    case Field.BootId: return "boot_id";
    case Field.Created: return "created";
    case Field.Expires: return "expires";
    case Field.Nonce: return "nonce";
    case Field.HeaderExtension: return "header_extension";
    case Field.Crc32c: return "crc32c";
    case Field.Tag: return "tag";
    case Field.SectionType: return "section_type";
    case Field.SectionFlags: return "section_flags";
    case Field.SectionCheck: return "section_check";
    case Field.SectionLength: return "section_length";
    case Field.SectionBytes: return "section_bytes";
    case Field.Padding: return "padding";
    case Field.EntryKind: return "entry_kind";
    case Field.EntryReserved: return "entry_reserved";
    case Field.EntryDevice: return "entry_st_dev";
    case Field.EntryInode: return "entry_st_ino";
    case Field.ArrayDtypeCode: return "dtype_code";
    case Field.ArrayDtypeBits: return "dtype_bits";
    case Field.ArrayDtypeLanes: return "dtype_lanes";
    case Field.ArrayNdim: return "ndim";
    case Field.ArrayReserved: return "array_reserved";
    case Field.ArrayShape: return "shape";
    case Field.ArrayStride: return "stride";
    case Field.Name: return "name";
    case Field.FurtherRole: return "further_role";
    case Field.FurtherReserved: return "further_reserved";
    case Field.FurtherBytes: return "further_bytes";
    case Field.HostDevice: return "host_st_dev";
    case Field.HostInode: return "host_st_ino";
    case Field.HostSize: return "host_size";
    case Field.HostFd: return "host_fd";
    case Field.HostFlags: return "host_flags";
    case Field.UmfHandleId: return "umf_handle_id";
    case Field.UmfBase: return "umf_base";
    case Field.UmfPid: return "umf_pid";
    case Field.UmfBaseSize: return "umf_base_size";
    case Field.UmfOffset: return "umf_offset";
    case Field.UmfInnerPid: return "umf_inner_pid";
    case Field.UmfInnerSize: return "umf_inner_size";
    case Field.ZeFd: return "ze_fd";
    case Field.ZePoolOffset: return "ze_pool_offset";
    case Field.ZeMemoryType: return "ze_memory_type";
    case Field.ZePid: return "ze_pid";
    case Field.ZeHandleType: return "ze_handle_type";
    case Field.ZeMirror: return "ze_mirror";
    case Field.ZeReserved: return "ze_reserved";
    case Field.ZeCompressed: return "ze_compressed";
    case Field.ZePidOrMemoryType: return "ze_pid_or_memory_type";
    case Field.CudaOpaque: return "cuda_opaque";
    case Field.CudaObservedPid: return "cuda_observed_pid";
    case Field.CudaObservedSize: return "cuda_observed_size";
    case Field.CudaVmmSize: return "cuda_vmm_size";
    case Field.CudaVmmFd: return "cuda_vmm_fd";
    case Field.TorchVersion: return "torch_version";
    case Field.TorchType: return "torch_type";
    default: return "";
  }
}

/** The name of a coded value of a field ("host" for backend 1), or "" where it has none. */
export function valueNameOf(id: i32, value: i32): string {
  switch (id) {
    case Field.Kind: return kindName(value);
    case Field.Backend: return backendName(value);
    case Field.Layout: return layoutName(value);
    case Field.SectionType: return sectionName(value);
    case Field.EntryKind: return descriptorName(value);
    case Field.FurtherRole: return value == FurtherRole.Event ? "event" : "";
    default: return "";
  }
}

function kindName(value: i32): string {
  switch (value) {
    case Kind.Memory: return "memory";
    case Kind.PhysicalMemory: return "physical-memory";
    case Kind.Event: return "event";
    case Kind.RemoteMemory: return "remote-memory";
    default: return "";
  }
}

function backendName(value: i32): string {
  switch (value) {
    case BackendCode.Host: return "host";
    case BackendCode.LevelZero: return "level_zero";
    case BackendCode.Sycl: return "sycl";
    case BackendCode.Cuda: return "cuda";
    default: return "";
  }
}

function layoutName(value: i32): string {
  switch (value) {
    case Layout.Host: return "host";
    case Layout.SyclUmfLevelZeroV2: return "sycl-umf-level-zero-v2";
    case Layout.SyclUmfLevelZeroV1: return "sycl-umf-level-zero-v1";
    case Layout.LevelZeroClassic: return "level-zero-classic";
    case Layout.LevelZeroOpaque: return "level-zero-opaque";
    case Layout.Cuda: return "cuda";
    case Layout.TorchCuda: return "torch-cuda";
    case Layout.SyclUmfCuda: return "sycl-umf-cuda";
    case Layout.CudaVmm: return "cuda-vmm";
    case Layout.CudaPool: return "cuda-pool";
    case Layout.CudaEvent: return "cuda-event";
    default: return "";
  }
}

function sectionName(value: i32): string {
  switch (value) {
    case SectionType.Handle: return "handle";
    case SectionType.FurtherHandle: return "further-handle";
    case SectionType.Descriptors: return "descriptors";
    case SectionType.Array: return "array";
    case SectionType.Name: return "name";
    default: return "";
  }
}

function descriptorName(value: i32): string {
  switch (value) {
    case DescriptorKind.Memfd: return "memfd";
    case DescriptorKind.DmaBuf: return "dma-buf";
    case DescriptorKind.Opaque: return "opaque";
    default: return "";
  }
}
