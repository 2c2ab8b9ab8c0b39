// The part of Level Zero's binary interface that this project calls or serves: types, structures and constants of the
// public specification (1.4, newer where a comment says so) under names of our own. A test holds them against the
// public headers. Every structure is born with its type in `stype` and zeros elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace usm_ipc::ze {

// Handles (ze_driver_handle_t, ...).
using Driver = struct DriverHandle*;
using Device = struct DeviceHandle*;
using Context = struct ContextHandle*;
using CommandQueue = struct CommandQueueHandle*;
using CommandList = struct CommandListHandle*;
using Fence = struct FenceHandle*;
using EventPool = struct EventPoolHandle*;
using Event = struct EventHandle*;
using PhysicalMem = struct PhysicalMemHandle*;

using Bool = uint8_t;  // ze_bool_t

constexpr uint32_t make_version(uint32_t major, uint32_t minor) { return major << 16 | minor; }

constexpr size_t kUuidSize = 16;
constexpr size_t kNameSize = 256;       // of devices, memories, extensions
constexpr size_t kIpcHandleSize = 64;
constexpr size_t kSubGroupSizes = 8;    // ZE_SUBGROUPSIZE_COUNT

// ze_result_t
using Result = uint32_t;
constexpr Result kSuccess = 0;
constexpr Result kNotReady = 1;
constexpr Result kDeviceLost = 0x70000001;
constexpr Result kOutOfHostMemory = 0x70000002;
constexpr Result kOutOfDeviceMemory = 0x70000003;
constexpr Result kInsufficientPermissions = 0x70010000;
constexpr Result kNotAvailable = 0x70010001;
constexpr Result kDependencyUnavailable = 0x70020000;
constexpr Result kUninitialized = 0x78000001;
constexpr Result kUnsupportedVersion = 0x78000002;
constexpr Result kUnsupportedFeature = 0x78000003;
constexpr Result kInvalidArgument = 0x78000004;
constexpr Result kInvalidNullHandle = 0x78000005;
constexpr Result kHandleObjectInUse = 0x78000006;
constexpr Result kInvalidNullPointer = 0x78000007;
constexpr Result kInvalidSize = 0x78000008;
constexpr Result kUnsupportedSize = 0x78000009;
constexpr Result kUnsupportedAlignment = 0x7800000a;
constexpr Result kInvalidSynchronizationObject = 0x7800000b;
constexpr Result kInvalidEnumeration = 0x7800000c;
constexpr Result kUnsupportedEnumeration = 0x7800000d;
constexpr Result kInvalidCommandListType = 0x78000019;
constexpr Result kOverlappingRegions = 0x7800001a;
constexpr Result kUnknown = 0x7ffffffe;

// ze_structure_type_t
constexpr uint32_t kDriverProperties = 0x1;
constexpr uint32_t kDriverIpcProperties = 0x2;
constexpr uint32_t kDeviceProperties = 0x3;
constexpr uint32_t kDeviceComputeProperties = 0x4;
constexpr uint32_t kDeviceModuleProperties = 0x5;
constexpr uint32_t kCommandQueueGroupProperties = 0x6;
constexpr uint32_t kDeviceMemoryProperties = 0x7;
constexpr uint32_t kDeviceMemoryAccessProperties = 0x8;
constexpr uint32_t kDeviceCacheProperties = 0x9;
constexpr uint32_t kDeviceImageProperties = 0xa;
constexpr uint32_t kDeviceP2pProperties = 0xb;
constexpr uint32_t kDeviceExternalMemoryProperties = 0xc;
constexpr uint32_t kContextDesc = 0xd;
constexpr uint32_t kCommandQueueDesc = 0xe;
constexpr uint32_t kCommandListDesc = 0xf;
constexpr uint32_t kEventPoolDesc = 0x10;
constexpr uint32_t kEventDesc = 0x11;
constexpr uint32_t kFenceDesc = 0x12;
constexpr uint32_t kDeviceMemAllocDesc = 0x15;
constexpr uint32_t kHostMemAllocDesc = 0x16;
constexpr uint32_t kMemoryAllocationProperties = 0x17;
constexpr uint32_t kExternalMemoryExportDesc = 0x18;
constexpr uint32_t kExternalMemoryImportFd = 0x19;
constexpr uint32_t kExternalMemoryExportFd = 0x1a;
constexpr uint32_t kPhysicalMemDesc = 0x20;
constexpr uint32_t kMemoryFreeExtDesc = 0x1000a;
constexpr uint32_t kDeviceIpVersionExt = 0x1000f;   // 1.5
constexpr uint32_t kInitDriverTypeDesc = 0x00020021;  // 1.10
constexpr uint32_t kPhysicalMemProperties = 0x00020040;  // 1.15
constexpr uint32_t kRelaxedAllocationLimitsExpDesc = 0x00020001;
constexpr uint32_t kDeviceProperties12 = 0x00020006;

// ze_init_flags_t, ze_init_driver_type_flags_t (1.10)
constexpr uint32_t kInitGpuOnly = 1;
constexpr uint32_t kInitVpuOnly = 2;
constexpr uint32_t kDriverTypeGpu = 1;
constexpr uint32_t kDriverTypeNpu = 2;

// ze_device_type_t
constexpr uint32_t kDeviceGpu = 1;
constexpr uint32_t kDeviceCpu = 2;
constexpr uint32_t kDeviceFpga = 3;
constexpr uint32_t kDeviceMca = 4;
constexpr uint32_t kDeviceVpu = 5;

// ze_device_property_flags_t
constexpr uint32_t kDeviceIntegrated = 1;
constexpr uint32_t kDeviceSubdevice = 2;
constexpr uint32_t kDeviceEcc = 4;
constexpr uint32_t kDeviceOnDemandPaging = 8;

// ze_command_queue_group_property_flags_t
constexpr uint32_t kQueueGroupCompute = 1;
constexpr uint32_t kQueueGroupCopy = 2;

// ze_memory_access_cap_flags_t
constexpr uint32_t kMemoryAccessRw = 1;
constexpr uint32_t kMemoryAccessAtomic = 2;
constexpr uint32_t kMemoryAccessConcurrent = 4;
constexpr uint32_t kMemoryAccessConcurrentAtomic = 8;

// ze_ipc_property_flags_t
constexpr uint32_t kIpcMemory = 1;
constexpr uint32_t kIpcEventPool = 2;

// ze_command_queue_flags_t, ze_command_queue_mode_t, ze_command_queue_priority_t
constexpr uint32_t kQueueExplicitOnly = 1;
constexpr uint32_t kQueueInOrder = 2;  // 1.6
constexpr uint32_t kModeDefault = 0;
constexpr uint32_t kModeSynchronous = 1;
constexpr uint32_t kModeAsynchronous = 2;
constexpr uint32_t kPriorityNormal = 0;
constexpr uint32_t kPriorityLow = 1;
constexpr uint32_t kPriorityHigh = 2;

// ze_command_list_flags_t
constexpr uint32_t kListRelaxedOrdering = 1;
constexpr uint32_t kListMaximizeThroughput = 2;
constexpr uint32_t kListExplicitOnly = 4;
constexpr uint32_t kListInOrder = 8;         // 1.6
constexpr uint32_t kListCloneable = 16;      // 1.9

// ze_event_pool_flags_t
constexpr uint32_t kPoolHostVisible = 1;
constexpr uint32_t kPoolIpc = 2;
constexpr uint32_t kPoolKernelTimestamp = 4;
constexpr uint32_t kPoolMappedTimestamp = 8;  // 1.6

// ze_event_scope_flags_t
constexpr uint32_t kScopeSubdevice = 1;
constexpr uint32_t kScopeDevice = 2;
constexpr uint32_t kScopeHost = 4;

constexpr uint32_t kFenceSignaled = 1;  // ze_fence_flags_t

// ze_memory_type_t
constexpr uint32_t kMemoryUnknown = 0;
constexpr uint32_t kMemoryHost = 1;
constexpr uint32_t kMemoryDevice = 2;
constexpr uint32_t kMemoryShared = 3;

// ze_device_mem_alloc_flags_t and ze_host_mem_alloc_flags_t take bits 0 to 2 and 0 to 3
constexpr uint32_t kDeviceMemAllocFlags = 7;
constexpr uint32_t kHostMemAllocFlags = 15;

// ze_ipc_memory_flags_t
constexpr uint32_t kIpcBiasCached = 1;
constexpr uint32_t kIpcBiasUncached = 2;

// ze_memory_access_attribute_t
constexpr uint32_t kAccessNone = 0;
constexpr uint32_t kAccessReadWrite = 1;
constexpr uint32_t kAccessReadOnly = 2;

// ze_driver_memory_free_policy_ext_flags_t
constexpr uint32_t kBlockingFree = 1;
constexpr uint32_t kDeferFree = 2;

constexpr uint32_t kDeviceP2pAccess = 1;            // ze_device_p2p_property_flags_t
constexpr uint32_t kExternalMemoryOpaqueFd = 1;     // ze_external_memory_type_flags_t
constexpr uint64_t kForever = UINT64_MAX;           // a timeout without end

struct BaseProperties {  // ze_base_properties_t, ze_base_desc_t
  uint32_t stype = 0;
  void* next = nullptr;
};

struct Uuid {  // ze_driver_uuid_t, ze_device_uuid_t, ze_native_kernel_uuid_t
  uint8_t id[kUuidSize];
};

struct DriverProperties {  // ze_driver_properties_t
  uint32_t stype = kDriverProperties;
  void* next = nullptr;
  Uuid uuid{};
  uint32_t driver_version = 0;
};

struct DriverIpcProperties {  // ze_driver_ipc_properties_t
  uint32_t stype = kDriverIpcProperties;
  void* next = nullptr;
  uint32_t flags = 0;
};

struct DriverExtensionProperties {  // ze_driver_extension_properties_t
  char name[kNameSize];
  uint32_t version;
};

struct InitDriverTypeDesc {  // ze_init_driver_type_desc_t, 1.10
  uint32_t stype = kInitDriverTypeDesc;
  const void* next = nullptr;
  uint32_t flags = kDriverTypeGpu;
};

struct DeviceProperties {  // ze_device_properties_t
  uint32_t stype = kDeviceProperties;
  void* next = nullptr;
  uint32_t type = 0;
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  uint32_t flags = 0;
  uint32_t subdevice_id = 0;
  uint32_t core_clock_rate = 0;
  uint64_t max_mem_alloc_size = 0;
  uint32_t max_hardware_contexts = 0;
  uint32_t max_command_queue_priority = 0;
  uint32_t num_threads_per_eu = 0;
  uint32_t physical_eu_simd_width = 0;
  uint32_t num_eus_per_subslice = 0;
  uint32_t num_subslices_per_slice = 0;
  uint32_t num_slices = 0;
  uint64_t timer_resolution = 0;
  uint32_t timestamp_valid_bits = 0;
  uint32_t kernel_timestamp_valid_bits = 0;
  Uuid uuid{};
  char name[kNameSize] = {};
};

struct DeviceIpVersionExt {  // ze_device_ip_version_ext_t, 1.5
  uint32_t stype = kDeviceIpVersionExt;
  const void* next = nullptr;
  uint32_t ip_version = 0;
};

struct DeviceComputeProperties {  // ze_device_compute_properties_t
  uint32_t stype = kDeviceComputeProperties;
  void* next = nullptr;
  uint32_t max_total_group_size = 0;
  uint32_t max_group_size[3] = {};
  uint32_t max_group_count[3] = {};
  uint32_t max_shared_local_memory = 0;
  uint32_t num_sub_group_sizes = 0;
  uint32_t sub_group_sizes[kSubGroupSizes] = {};
};

struct DeviceModuleProperties {  // ze_device_module_properties_t
  uint32_t stype = kDeviceModuleProperties;
  void* next = nullptr;
  uint32_t spirv_version_supported = 0;
  uint32_t flags = 0;
  uint32_t fp16_flags = 0;
  uint32_t fp32_flags = 0;
  uint32_t fp64_flags = 0;
  uint32_t max_arguments_size = 0;
  uint32_t printf_buffer_size = 0;
  Uuid native_kernel_supported{};
};

struct CommandQueueGroupProperties {  // ze_command_queue_group_properties_t
  uint32_t stype = kCommandQueueGroupProperties;
  void* next = nullptr;
  uint32_t flags = 0;
  size_t max_memory_fill_pattern_size = 0;
  uint32_t num_queues = 0;
};

struct DeviceMemoryProperties {  // ze_device_memory_properties_t
  uint32_t stype = kDeviceMemoryProperties;
  void* next = nullptr;
  uint32_t flags = 0;
  uint32_t max_clock_rate = 0;
  uint32_t max_bus_width = 0;
  uint64_t total_size = 0;
  char name[kNameSize] = {};
};

struct DeviceMemoryAccessProperties {  // ze_device_memory_access_properties_t
  uint32_t stype = kDeviceMemoryAccessProperties;
  void* next = nullptr;
  uint32_t host = 0;
  uint32_t device = 0;
  uint32_t shared_single_device = 0;
  uint32_t shared_cross_device = 0;
  uint32_t shared_system = 0;
};

struct DeviceCacheProperties {  // ze_device_cache_properties_t
  uint32_t stype = kDeviceCacheProperties;
  void* next = nullptr;
  uint32_t flags = 0;
  size_t cache_size = 0;
};

struct DeviceImageProperties {  // ze_device_image_properties_t
  uint32_t stype = kDeviceImageProperties;
  void* next = nullptr;
  uint32_t max_dims[3] = {};
  uint64_t max_buffer_size = 0;
  uint32_t max_array_slices = 0;
  uint32_t max_samplers = 0;
  uint32_t max_read_args = 0;
  uint32_t max_write_args = 0;
};

struct DeviceP2pProperties {  // ze_device_p2p_properties_t
  uint32_t stype = kDeviceP2pProperties;
  void* next = nullptr;
  uint32_t flags = 0;
};

struct DeviceExternalMemoryProperties {  // ze_device_external_memory_properties_t
  uint32_t stype = kDeviceExternalMemoryProperties;
  void* next = nullptr;
  uint32_t memory_import_types = 0;
  uint32_t memory_export_types = 0;
  uint32_t image_import_types = 0;
  uint32_t image_export_types = 0;
};

struct ContextDesc {  // ze_context_desc_t
  uint32_t stype = kContextDesc;
  const void* next = nullptr;
  uint32_t flags = 0;
};

struct CommandQueueDesc {  // ze_command_queue_desc_t
  uint32_t stype = kCommandQueueDesc;
  const void* next = nullptr;
  uint32_t ordinal = 0;
  uint32_t index = 0;
  uint32_t flags = 0;
  uint32_t mode = kModeDefault;
  uint32_t priority = kPriorityNormal;
};

struct CommandListDesc {  // ze_command_list_desc_t
  uint32_t stype = kCommandListDesc;
  const void* next = nullptr;
  uint32_t ordinal = 0;
  uint32_t flags = 0;
};

struct FenceDesc {  // ze_fence_desc_t
  uint32_t stype = kFenceDesc;
  const void* next = nullptr;
  uint32_t flags = 0;
};

struct EventPoolDesc {  // ze_event_pool_desc_t
  uint32_t stype = kEventPoolDesc;
  const void* next = nullptr;
  uint32_t flags = 0;
  uint32_t count = 0;
};

struct EventDesc {  // ze_event_desc_t
  uint32_t stype = kEventDesc;
  const void* next = nullptr;
  uint32_t index = 0;
  uint32_t signal = 0;
  uint32_t wait = 0;
};

struct KernelTimestamp {  // ze_kernel_timestamp_data_t
  uint64_t start = 0;
  uint64_t end = 0;
};

struct KernelTimestampResult {  // ze_kernel_timestamp_result_t
  KernelTimestamp global;
  KernelTimestamp context;
};

struct DeviceMemAllocDesc {  // ze_device_mem_alloc_desc_t
  uint32_t stype = kDeviceMemAllocDesc;
  const void* next = nullptr;
  uint32_t flags = 0;
  uint32_t ordinal = 0;
};

struct HostMemAllocDesc {  // ze_host_mem_alloc_desc_t
  uint32_t stype = kHostMemAllocDesc;
  const void* next = nullptr;
  uint32_t flags = 0;
};

struct MemoryAllocationProperties {  // ze_memory_allocation_properties_t
  uint32_t stype = kMemoryAllocationProperties;
  void* next = nullptr;
  uint32_t type = kMemoryUnknown;
  uint64_t id = 0;
  uint64_t page_size = 0;
};

struct ExternalMemoryExportDesc {  // ze_external_memory_export_desc_t
  uint32_t stype = kExternalMemoryExportDesc;
  const void* next = nullptr;
  uint32_t flags = 0;
};

struct ExternalMemoryImportFd {  // ze_external_memory_import_fd_t
  uint32_t stype = kExternalMemoryImportFd;
  const void* next = nullptr;
  uint32_t flags = 0;
  int fd = -1;
};

struct ExternalMemoryExportFd {  // ze_external_memory_export_fd_t
  uint32_t stype = kExternalMemoryExportFd;
  const void* next = nullptr;
  uint32_t flags = 0;
  int fd = -1;
};

struct PhysicalMemDesc {  // ze_physical_mem_desc_t
  uint32_t stype = kPhysicalMemDesc;
  const void* next = nullptr;
  uint32_t flags = 0;
  size_t size = 0;
};

struct PhysicalMemProperties {  // ze_physical_mem_properties_t, 1.15
  uint32_t stype = kPhysicalMemProperties;
  void* next = nullptr;
  uint64_t id = 0;
  uint64_t size = 0;
};

struct MemoryFreeExtDesc {  // ze_memory_free_ext_desc_t
  uint32_t stype = kMemoryFreeExtDesc;
  const void* next = nullptr;
  uint32_t policy = kBlockingFree;
};

struct IpcMemHandle {  // ze_ipc_mem_handle_t
  uint8_t data[kIpcHandleSize];
};

struct CopyRegion {  // ze_copy_region_t
  uint32_t origin_x = 0;
  uint32_t origin_y = 0;
  uint32_t origin_z = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t depth = 0;
};

// The functions' types, under the names by which a loader is asked for them:
// `reinterpret_cast<functions::zeInit*>(dlsym(loader, "zeInit"))`.
namespace functions {

using zeInit = Result(uint32_t flags);
using zeInitDrivers = Result(uint32_t* count, Driver* drivers, InitDriverTypeDesc* desc);  // 1.10

using zeDriverGet = Result(uint32_t* count, Driver* drivers);
using zeDriverGetApiVersion = Result(Driver, uint32_t* version);
using zeDriverGetProperties = Result(Driver, DriverProperties*);
using zeDriverGetIpcProperties = Result(Driver, DriverIpcProperties*);
using zeDriverGetExtensionProperties = Result(Driver, uint32_t* count, DriverExtensionProperties*);
using zeDriverGetExtensionFunctionAddress = Result(Driver, const char* name, void** function);
using zeDriverGetLastErrorDescription = Result(Driver, const char** text);  // 1.6
using zeDriverGetDefaultContext = Context(Driver);  // 1.14; gives the handle itself

using zeDeviceGet = Result(Driver, uint32_t* count, Device*);
using zeDeviceGetRootDevice = Result(Device, Device* root);  // 1.7
using zeDeviceGetSubDevices = Result(Device, uint32_t* count, Device*);
using zeDeviceGetProperties = Result(Device, DeviceProperties*);
using zeDeviceGetComputeProperties = Result(Device, DeviceComputeProperties*);
using zeDeviceGetModuleProperties = Result(Device, DeviceModuleProperties*);
using zeDeviceGetCommandQueueGroupProperties = Result(Device, uint32_t* count, CommandQueueGroupProperties*);
using zeDeviceGetMemoryProperties = Result(Device, uint32_t* count, DeviceMemoryProperties*);
using zeDeviceGetMemoryAccessProperties = Result(Device, DeviceMemoryAccessProperties*);
using zeDeviceGetCacheProperties = Result(Device, uint32_t* count, DeviceCacheProperties*);
using zeDeviceGetImageProperties = Result(Device, DeviceImageProperties*);
using zeDeviceGetExternalMemoryProperties = Result(Device, DeviceExternalMemoryProperties*);
using zeDeviceGetP2PProperties = Result(Device, Device peer, DeviceP2pProperties*);
using zeDeviceCanAccessPeer = Result(Device, Device peer, Bool* can);
using zeDeviceGetStatus = Result(Device);
using zeDeviceGetGlobalTimestamps = Result(Device, uint64_t* host, uint64_t* device);

using zeContextCreate = Result(Driver, const ContextDesc*, Context*);
using zeContextCreateEx = Result(Driver, const ContextDesc*, uint32_t count, Device*, Context*);
using zeContextDestroy = Result(Context);
using zeContextGetStatus = Result(Context);
using zeContextSystemBarrier = Result(Context, Device);
using zeContextMakeMemoryResident = Result(Context, Device, void*, size_t);
using zeContextEvictMemory = Result(Context, Device, void*, size_t);

using zeMemAllocDevice = Result(Context, const DeviceMemAllocDesc*, size_t size, size_t alignment, Device, void**);
using zeMemAllocHost = Result(Context, const HostMemAllocDesc*, size_t size, size_t alignment, void**);
using zeMemAllocShared = Result(Context, const DeviceMemAllocDesc*, const HostMemAllocDesc*, size_t size,
                                size_t alignment, Device, void**);
using zeMemFree = Result(Context, void*);
using zeMemFreeExt = Result(Context, const MemoryFreeExtDesc*, void*);
using zeMemGetAllocProperties = Result(Context, const void*, MemoryAllocationProperties*, Device*);
using zeMemGetAddressRange = Result(Context, const void*, void** base, size_t* size);
using zeMemGetIpcHandle = Result(Context, const void*, IpcMemHandle*);
using zeMemPutIpcHandle = Result(Context, IpcMemHandle);  // 1.6
using zeMemOpenIpcHandle = Result(Context, Device, IpcMemHandle, uint32_t flags, void**);
using zeMemCloseIpcHandle = Result(Context, const void*);

using zePhysicalMemCreate = Result(Context, Device, PhysicalMemDesc*, PhysicalMem*);
using zePhysicalMemDestroy = Result(Context, PhysicalMem);
using zePhysicalMemGetProperties = Result(Context, PhysicalMem, PhysicalMemProperties*);  // 1.15
using zeVirtualMemReserve = Result(Context, const void* start, size_t, void**);
using zeVirtualMemFree = Result(Context, const void*, size_t);
using zeVirtualMemQueryPageSize = Result(Context, Device, size_t, size_t* page_size);
using zeVirtualMemMap = Result(Context, const void*, size_t, PhysicalMem, size_t offset, uint32_t access);
using zeVirtualMemUnmap = Result(Context, const void*, size_t);
using zeVirtualMemSetAccessAttribute = Result(Context, const void*, size_t, uint32_t access);
using zeVirtualMemGetAccessAttribute = Result(Context, const void*, size_t, uint32_t* access, size_t* out_size);

using zeCommandQueueCreate = Result(Context, Device, const CommandQueueDesc*, CommandQueue*);
using zeCommandQueueDestroy = Result(CommandQueue);
using zeCommandQueueExecuteCommandLists = Result(CommandQueue, uint32_t count, CommandList*, Fence);
using zeCommandQueueSynchronize = Result(CommandQueue, uint64_t timeout);

using zeFenceCreate = Result(CommandQueue, const FenceDesc*, Fence*);
using zeFenceDestroy = Result(Fence);
using zeFenceHostSynchronize = Result(Fence, uint64_t timeout);
using zeFenceQueryStatus = Result(Fence);
using zeFenceReset = Result(Fence);

using zeCommandListCreate = Result(Context, Device, const CommandListDesc*, CommandList*);
using zeCommandListCreateImmediate = Result(Context, Device, const CommandQueueDesc*, CommandList*);
using zeCommandListDestroy = Result(CommandList);
using zeCommandListClose = Result(CommandList);
using zeCommandListReset = Result(CommandList);
using zeCommandListHostSynchronize = Result(CommandList, uint64_t timeout);  // 1.6
using zeCommandListAppendBarrier = Result(CommandList, Event signal, uint32_t count, Event* wait);
using zeCommandListAppendMemoryRangesBarrier = Result(CommandList, uint32_t ranges, const size_t* sizes,
                                                      const void** pointers, Event signal, uint32_t count,
                                                      Event* wait);
using zeCommandListAppendMemoryCopy = Result(CommandList, void* to, const void* from, size_t size, Event signal,
                                             uint32_t count, Event* wait);
using zeCommandListAppendMemoryFill = Result(CommandList, void* to, const void* pattern, size_t pattern_size,
                                             size_t size, Event signal, uint32_t count, Event* wait);
using zeCommandListAppendMemoryCopyRegion = Result(CommandList, void* to, const CopyRegion*, uint32_t to_pitch,
                                                   uint32_t to_slice_pitch, const void* from, const CopyRegion*,
                                                   uint32_t from_pitch, uint32_t from_slice_pitch, Event signal,
                                                   uint32_t count, Event* wait);
using zeCommandListAppendMemoryCopyFromContext = Result(CommandList, void* to, Context, const void* from, size_t size,
                                                        Event signal, uint32_t count, Event* wait);
using zeCommandListAppendMemoryPrefetch = Result(CommandList, const void*, size_t);
using zeCommandListAppendMemAdvise = Result(CommandList, Device, const void*, size_t, uint32_t advice);
using zeCommandListAppendSignalEvent = Result(CommandList, Event);
using zeCommandListAppendWaitOnEvents = Result(CommandList, uint32_t count, Event*);
using zeCommandListAppendEventReset = Result(CommandList, Event);
using zeCommandListAppendWriteGlobalTimestamp = Result(CommandList, uint64_t* to, Event signal, uint32_t count,
                                                       Event* wait);
using zeCommandListAppendQueryKernelTimestamps = Result(CommandList, uint32_t events, Event*, void* to,
                                                        const size_t* offsets, Event signal, uint32_t count,
                                                        Event* wait);

using zeEventPoolCreate = Result(Context, const EventPoolDesc*, uint32_t count, Device*, EventPool*);
using zeEventPoolDestroy = Result(EventPool);
using zeEventCreate = Result(EventPool, const EventDesc*, Event*);
using zeEventDestroy = Result(Event);
using zeEventHostSignal = Result(Event);
using zeEventHostReset = Result(Event);
using zeEventHostSynchronize = Result(Event, uint64_t timeout);
using zeEventQueryStatus = Result(Event);
using zeEventQueryKernelTimestamp = Result(Event, KernelTimestampResult*);

}  // namespace functions

// The software driver of this project answers zeDriverGetExtensionFunctionAddress() for this name and lists this
// extension; no other driver does.
constexpr char kSoftwareDriverFunction[] = "usmIpcSoftwareDriver";
constexpr char kSoftwareDriverExtension[] = "USM_IPC_software_driver";

}  // namespace usm_ipc::ze
