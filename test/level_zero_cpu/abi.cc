// Our declarations against the public headers (Debian: libze-dev), which are of version 1.4 or newer.
#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#include <type_traits>

#include "level_zero/abi.h"

namespace ours = usm_ipc::ze;

#define SAME_VALUE(mine, theirs) static_assert(static_cast<uint32_t>(ours::mine) == static_cast<uint32_t>(theirs))
#define SAME_SIZE(mine, theirs) \
  static_assert(sizeof(ours::mine) == sizeof(theirs) && alignof(ours::mine) == alignof(theirs))
#define SAME_FIELD(mine, field, theirs, their_field)                           \
  static_assert(offsetof(ours::mine, field) == offsetof(theirs, their_field)); \
  static_assert(sizeof(ours::mine::field) == sizeof(theirs::their_field))

// As many arguments, each of the same size and kind, as C passes them.
template <typename Mine, typename Theirs>
struct SameFunction : std::false_type {};

template <typename Mine, typename Theirs>
constexpr bool same_argument = sizeof(Mine) == sizeof(Theirs) &&
                               std::is_pointer_v<Mine> == std::is_pointer_v<Theirs> &&
                               std::is_class_v<Mine> == std::is_class_v<Theirs>;

template <typename A, typename B, typename... Mine, typename... Theirs>
struct SameFunction<A(Mine...), B (*)(Theirs...)> {
  static constexpr bool check() {
    if constexpr (sizeof...(Mine) == sizeof...(Theirs)) {
      return same_argument<A, B> && (same_argument<Mine, Theirs> && ...);
    }
    return false;
  }
  static constexpr bool value = check();
};

#define SAME_FUNCTION(mine, theirs) static_assert(SameFunction<ours::functions::mine, theirs>::value)

SAME_VALUE(kSuccess, ZE_RESULT_SUCCESS);
SAME_VALUE(kNotReady, ZE_RESULT_NOT_READY);
SAME_VALUE(kDeviceLost, ZE_RESULT_ERROR_DEVICE_LOST);
SAME_VALUE(kOutOfHostMemory, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
SAME_VALUE(kOutOfDeviceMemory, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
SAME_VALUE(kInsufficientPermissions, ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS);
SAME_VALUE(kNotAvailable, ZE_RESULT_ERROR_NOT_AVAILABLE);
SAME_VALUE(kDependencyUnavailable, ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE);
SAME_VALUE(kUninitialized, ZE_RESULT_ERROR_UNINITIALIZED);
SAME_VALUE(kUnsupportedVersion, ZE_RESULT_ERROR_UNSUPPORTED_VERSION);
SAME_VALUE(kUnsupportedFeature, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
SAME_VALUE(kInvalidArgument, ZE_RESULT_ERROR_INVALID_ARGUMENT);
SAME_VALUE(kInvalidNullHandle, ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
SAME_VALUE(kHandleObjectInUse, ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
SAME_VALUE(kInvalidNullPointer, ZE_RESULT_ERROR_INVALID_NULL_POINTER);
SAME_VALUE(kInvalidSize, ZE_RESULT_ERROR_INVALID_SIZE);
SAME_VALUE(kUnsupportedSize, ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
SAME_VALUE(kUnsupportedAlignment, ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
SAME_VALUE(kInvalidSynchronizationObject, ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
SAME_VALUE(kInvalidEnumeration, ZE_RESULT_ERROR_INVALID_ENUMERATION);
SAME_VALUE(kUnsupportedEnumeration, ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION);
SAME_VALUE(kInvalidCommandListType, ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
SAME_VALUE(kOverlappingRegions, ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
SAME_VALUE(kUnknown, ZE_RESULT_ERROR_UNKNOWN);

SAME_VALUE(kDriverProperties, ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES);
SAME_VALUE(kDriverIpcProperties, ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES);
SAME_VALUE(kDeviceProperties, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
SAME_VALUE(kDeviceComputeProperties, ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES);
SAME_VALUE(kDeviceModuleProperties, ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES);
SAME_VALUE(kCommandQueueGroupProperties, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES);
SAME_VALUE(kDeviceMemoryProperties, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
SAME_VALUE(kDeviceMemoryAccessProperties, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES);
SAME_VALUE(kDeviceCacheProperties, ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES);
SAME_VALUE(kDeviceImageProperties, ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES);
SAME_VALUE(kDeviceP2pProperties, ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES);
SAME_VALUE(kDeviceExternalMemoryProperties, ZE_STRUCTURE_TYPE_DEVICE_EXTERNAL_MEMORY_PROPERTIES);
SAME_VALUE(kContextDesc, ZE_STRUCTURE_TYPE_CONTEXT_DESC);
SAME_VALUE(kCommandQueueDesc, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
SAME_VALUE(kCommandListDesc, ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
SAME_VALUE(kEventPoolDesc, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
SAME_VALUE(kEventDesc, ZE_STRUCTURE_TYPE_EVENT_DESC);
SAME_VALUE(kFenceDesc, ZE_STRUCTURE_TYPE_FENCE_DESC);
SAME_VALUE(kDeviceMemAllocDesc, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
SAME_VALUE(kHostMemAllocDesc, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
SAME_VALUE(kMemoryAllocationProperties, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
SAME_VALUE(kExternalMemoryExportDesc, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC);
SAME_VALUE(kExternalMemoryImportFd, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD);
SAME_VALUE(kExternalMemoryExportFd, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD);
SAME_VALUE(kPhysicalMemDesc, ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC);
SAME_VALUE(kMemoryFreeExtDesc, ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC);
SAME_VALUE(kRelaxedAllocationLimitsExpDesc, ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC);
SAME_VALUE(kDeviceProperties12, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);

SAME_VALUE(kInitGpuOnly, ZE_INIT_FLAG_GPU_ONLY);
SAME_VALUE(kInitVpuOnly, ZE_INIT_FLAG_VPU_ONLY);
SAME_VALUE(kDeviceGpu, ZE_DEVICE_TYPE_GPU);
SAME_VALUE(kDeviceCpu, ZE_DEVICE_TYPE_CPU);
SAME_VALUE(kDeviceFpga, ZE_DEVICE_TYPE_FPGA);
SAME_VALUE(kDeviceMca, ZE_DEVICE_TYPE_MCA);
SAME_VALUE(kDeviceVpu, ZE_DEVICE_TYPE_VPU);
SAME_VALUE(kDeviceIntegrated, ZE_DEVICE_PROPERTY_FLAG_INTEGRATED);
SAME_VALUE(kDeviceSubdevice, ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE);
SAME_VALUE(kDeviceEcc, ZE_DEVICE_PROPERTY_FLAG_ECC);
SAME_VALUE(kDeviceOnDemandPaging, ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING);
SAME_VALUE(kQueueGroupCompute, ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE);
SAME_VALUE(kQueueGroupCopy, ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY);
SAME_VALUE(kMemoryAccessRw, ZE_MEMORY_ACCESS_CAP_FLAG_RW);
SAME_VALUE(kMemoryAccessAtomic, ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC);
SAME_VALUE(kMemoryAccessConcurrent, ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT);
SAME_VALUE(kMemoryAccessConcurrentAtomic, ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC);
SAME_VALUE(kIpcMemory, ZE_IPC_PROPERTY_FLAG_MEMORY);
SAME_VALUE(kIpcEventPool, ZE_IPC_PROPERTY_FLAG_EVENT_POOL);
SAME_VALUE(kQueueExplicitOnly, ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY);
SAME_VALUE(kModeDefault, ZE_COMMAND_QUEUE_MODE_DEFAULT);
SAME_VALUE(kModeSynchronous, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
SAME_VALUE(kModeAsynchronous, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
SAME_VALUE(kPriorityNormal, ZE_COMMAND_QUEUE_PRIORITY_NORMAL);
SAME_VALUE(kPriorityLow, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW);
SAME_VALUE(kPriorityHigh, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH);
SAME_VALUE(kListRelaxedOrdering, ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING);
SAME_VALUE(kListMaximizeThroughput, ZE_COMMAND_LIST_FLAG_MAXIMIZE_THROUGHPUT);
SAME_VALUE(kListExplicitOnly, ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY);
SAME_VALUE(kPoolHostVisible, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
SAME_VALUE(kPoolIpc, ZE_EVENT_POOL_FLAG_IPC);
SAME_VALUE(kPoolKernelTimestamp, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
SAME_VALUE(kScopeSubdevice, ZE_EVENT_SCOPE_FLAG_SUBDEVICE);
SAME_VALUE(kScopeDevice, ZE_EVENT_SCOPE_FLAG_DEVICE);
SAME_VALUE(kScopeHost, ZE_EVENT_SCOPE_FLAG_HOST);
SAME_VALUE(kFenceSignaled, ZE_FENCE_FLAG_SIGNALED);
SAME_VALUE(kMemoryUnknown, ZE_MEMORY_TYPE_UNKNOWN);
SAME_VALUE(kMemoryHost, ZE_MEMORY_TYPE_HOST);
SAME_VALUE(kMemoryDevice, ZE_MEMORY_TYPE_DEVICE);
SAME_VALUE(kMemoryShared, ZE_MEMORY_TYPE_SHARED);
SAME_VALUE(kIpcBiasCached, ZE_IPC_MEMORY_FLAG_BIAS_CACHED);
SAME_VALUE(kIpcBiasUncached, ZE_IPC_MEMORY_FLAG_BIAS_UNCACHED);
SAME_VALUE(kAccessNone, ZE_MEMORY_ACCESS_ATTRIBUTE_NONE);
SAME_VALUE(kAccessReadWrite, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE);
SAME_VALUE(kAccessReadOnly, ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY);
SAME_VALUE(kBlockingFree, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE);
SAME_VALUE(kDeferFree, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE);
SAME_VALUE(kDeviceP2pAccess, ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS);
SAME_VALUE(kExternalMemoryOpaqueFd, ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD);
SAME_VALUE(kUuidSize, ZE_MAX_DEVICE_UUID_SIZE);
SAME_VALUE(kNameSize, ZE_MAX_DEVICE_NAME);
SAME_VALUE(kNameSize, ZE_MAX_EXTENSION_NAME);
SAME_VALUE(kIpcHandleSize, ZE_MAX_IPC_HANDLE_SIZE);
SAME_VALUE(kSubGroupSizes, ZE_SUBGROUPSIZE_COUNT);

SAME_SIZE(BaseProperties, ze_base_properties_t);
SAME_FIELD(BaseProperties, stype, ze_base_properties_t, stype);
SAME_FIELD(BaseProperties, next, ze_base_properties_t, pNext);
SAME_SIZE(Uuid, ze_driver_uuid_t);
SAME_FIELD(Uuid, id, ze_driver_uuid_t, id);
SAME_SIZE(DriverProperties, ze_driver_properties_t);
SAME_FIELD(DriverProperties, stype, ze_driver_properties_t, stype);
SAME_FIELD(DriverProperties, next, ze_driver_properties_t, pNext);
SAME_FIELD(DriverProperties, uuid, ze_driver_properties_t, uuid);
SAME_FIELD(DriverProperties, driver_version, ze_driver_properties_t, driverVersion);
SAME_SIZE(DriverIpcProperties, ze_driver_ipc_properties_t);
SAME_FIELD(DriverIpcProperties, stype, ze_driver_ipc_properties_t, stype);
SAME_FIELD(DriverIpcProperties, next, ze_driver_ipc_properties_t, pNext);
SAME_FIELD(DriverIpcProperties, flags, ze_driver_ipc_properties_t, flags);
SAME_SIZE(DriverExtensionProperties, ze_driver_extension_properties_t);
SAME_FIELD(DriverExtensionProperties, name, ze_driver_extension_properties_t, name);
SAME_FIELD(DriverExtensionProperties, version, ze_driver_extension_properties_t, version);
SAME_SIZE(DeviceProperties, ze_device_properties_t);
SAME_FIELD(DeviceProperties, stype, ze_device_properties_t, stype);
SAME_FIELD(DeviceProperties, next, ze_device_properties_t, pNext);
SAME_FIELD(DeviceProperties, type, ze_device_properties_t, type);
SAME_FIELD(DeviceProperties, vendor_id, ze_device_properties_t, vendorId);
SAME_FIELD(DeviceProperties, device_id, ze_device_properties_t, deviceId);
SAME_FIELD(DeviceProperties, flags, ze_device_properties_t, flags);
SAME_FIELD(DeviceProperties, subdevice_id, ze_device_properties_t, subdeviceId);
SAME_FIELD(DeviceProperties, core_clock_rate, ze_device_properties_t, coreClockRate);
SAME_FIELD(DeviceProperties, max_mem_alloc_size, ze_device_properties_t, maxMemAllocSize);
SAME_FIELD(DeviceProperties, max_hardware_contexts, ze_device_properties_t, maxHardwareContexts);
SAME_FIELD(DeviceProperties, max_command_queue_priority, ze_device_properties_t, maxCommandQueuePriority);
SAME_FIELD(DeviceProperties, num_threads_per_eu, ze_device_properties_t, numThreadsPerEU);
SAME_FIELD(DeviceProperties, physical_eu_simd_width, ze_device_properties_t, physicalEUSimdWidth);
SAME_FIELD(DeviceProperties, num_eus_per_subslice, ze_device_properties_t, numEUsPerSubslice);
SAME_FIELD(DeviceProperties, num_subslices_per_slice, ze_device_properties_t, numSubslicesPerSlice);
SAME_FIELD(DeviceProperties, num_slices, ze_device_properties_t, numSlices);
SAME_FIELD(DeviceProperties, timer_resolution, ze_device_properties_t, timerResolution);
SAME_FIELD(DeviceProperties, timestamp_valid_bits, ze_device_properties_t, timestampValidBits);
SAME_FIELD(DeviceProperties, kernel_timestamp_valid_bits, ze_device_properties_t, kernelTimestampValidBits);
SAME_FIELD(DeviceProperties, uuid, ze_device_properties_t, uuid);
SAME_FIELD(DeviceProperties, name, ze_device_properties_t, name);
SAME_SIZE(DeviceComputeProperties, ze_device_compute_properties_t);
SAME_FIELD(DeviceComputeProperties, max_total_group_size, ze_device_compute_properties_t, maxTotalGroupSize);
static_assert(offsetof(ours::DeviceComputeProperties, max_group_size[2]) == offsetof(ze_device_compute_properties_t,
              maxGroupSizeZ));
static_assert(offsetof(ours::DeviceComputeProperties, max_group_count[2]) == offsetof(ze_device_compute_properties_t,
              maxGroupCountZ));
SAME_FIELD(DeviceComputeProperties, max_shared_local_memory, ze_device_compute_properties_t, maxSharedLocalMemory);
SAME_FIELD(DeviceComputeProperties, num_sub_group_sizes, ze_device_compute_properties_t, numSubGroupSizes);
SAME_FIELD(DeviceComputeProperties, sub_group_sizes, ze_device_compute_properties_t, subGroupSizes);
SAME_SIZE(DeviceModuleProperties, ze_device_module_properties_t);
SAME_FIELD(DeviceModuleProperties, stype, ze_device_module_properties_t, stype);
SAME_FIELD(DeviceModuleProperties, next, ze_device_module_properties_t, pNext);
SAME_FIELD(DeviceModuleProperties, spirv_version_supported, ze_device_module_properties_t, spirvVersionSupported);
SAME_FIELD(DeviceModuleProperties, flags, ze_device_module_properties_t, flags);
SAME_FIELD(DeviceModuleProperties, fp16_flags, ze_device_module_properties_t, fp16flags);
SAME_FIELD(DeviceModuleProperties, fp32_flags, ze_device_module_properties_t, fp32flags);
SAME_FIELD(DeviceModuleProperties, fp64_flags, ze_device_module_properties_t, fp64flags);
SAME_FIELD(DeviceModuleProperties, max_arguments_size, ze_device_module_properties_t, maxArgumentsSize);
SAME_FIELD(DeviceModuleProperties, printf_buffer_size, ze_device_module_properties_t, printfBufferSize);
SAME_FIELD(DeviceModuleProperties, native_kernel_supported, ze_device_module_properties_t, nativeKernelSupported);
SAME_SIZE(CommandQueueGroupProperties, ze_command_queue_group_properties_t);
SAME_FIELD(CommandQueueGroupProperties, stype, ze_command_queue_group_properties_t, stype);
SAME_FIELD(CommandQueueGroupProperties, next, ze_command_queue_group_properties_t, pNext);
SAME_FIELD(CommandQueueGroupProperties, flags, ze_command_queue_group_properties_t, flags);
SAME_FIELD(CommandQueueGroupProperties, max_memory_fill_pattern_size, ze_command_queue_group_properties_t,
           maxMemoryFillPatternSize);
SAME_FIELD(CommandQueueGroupProperties, num_queues, ze_command_queue_group_properties_t, numQueues);
SAME_SIZE(DeviceMemoryProperties, ze_device_memory_properties_t);
SAME_FIELD(DeviceMemoryProperties, stype, ze_device_memory_properties_t, stype);
SAME_FIELD(DeviceMemoryProperties, next, ze_device_memory_properties_t, pNext);
SAME_FIELD(DeviceMemoryProperties, flags, ze_device_memory_properties_t, flags);
SAME_FIELD(DeviceMemoryProperties, max_clock_rate, ze_device_memory_properties_t, maxClockRate);
SAME_FIELD(DeviceMemoryProperties, max_bus_width, ze_device_memory_properties_t, maxBusWidth);
SAME_FIELD(DeviceMemoryProperties, total_size, ze_device_memory_properties_t, totalSize);
SAME_FIELD(DeviceMemoryProperties, name, ze_device_memory_properties_t, name);
SAME_SIZE(DeviceMemoryAccessProperties, ze_device_memory_access_properties_t);
SAME_FIELD(DeviceMemoryAccessProperties, stype, ze_device_memory_access_properties_t, stype);
SAME_FIELD(DeviceMemoryAccessProperties, next, ze_device_memory_access_properties_t, pNext);
SAME_FIELD(DeviceMemoryAccessProperties, host, ze_device_memory_access_properties_t, hostAllocCapabilities);
SAME_FIELD(DeviceMemoryAccessProperties, device, ze_device_memory_access_properties_t, deviceAllocCapabilities);
SAME_FIELD(DeviceMemoryAccessProperties, shared_single_device, ze_device_memory_access_properties_t,
           sharedSingleDeviceAllocCapabilities);
SAME_FIELD(DeviceMemoryAccessProperties, shared_cross_device, ze_device_memory_access_properties_t,
           sharedCrossDeviceAllocCapabilities);
SAME_FIELD(DeviceMemoryAccessProperties, shared_system, ze_device_memory_access_properties_t,
           sharedSystemAllocCapabilities);
SAME_SIZE(DeviceCacheProperties, ze_device_cache_properties_t);
SAME_FIELD(DeviceCacheProperties, stype, ze_device_cache_properties_t, stype);
SAME_FIELD(DeviceCacheProperties, next, ze_device_cache_properties_t, pNext);
SAME_FIELD(DeviceCacheProperties, flags, ze_device_cache_properties_t, flags);
SAME_FIELD(DeviceCacheProperties, cache_size, ze_device_cache_properties_t, cacheSize);
SAME_SIZE(DeviceImageProperties, ze_device_image_properties_t);
static_assert(offsetof(ours::DeviceImageProperties, max_dims[2]) == offsetof(ze_device_image_properties_t,
              maxImageDims3D));
SAME_FIELD(DeviceImageProperties, max_buffer_size, ze_device_image_properties_t, maxImageBufferSize);
SAME_FIELD(DeviceImageProperties, max_array_slices, ze_device_image_properties_t, maxImageArraySlices);
SAME_FIELD(DeviceImageProperties, max_samplers, ze_device_image_properties_t, maxSamplers);
SAME_FIELD(DeviceImageProperties, max_read_args, ze_device_image_properties_t, maxReadImageArgs);
SAME_FIELD(DeviceImageProperties, max_write_args, ze_device_image_properties_t, maxWriteImageArgs);
SAME_SIZE(DeviceP2pProperties, ze_device_p2p_properties_t);
SAME_FIELD(DeviceP2pProperties, stype, ze_device_p2p_properties_t, stype);
SAME_FIELD(DeviceP2pProperties, next, ze_device_p2p_properties_t, pNext);
SAME_FIELD(DeviceP2pProperties, flags, ze_device_p2p_properties_t, flags);
SAME_SIZE(DeviceExternalMemoryProperties, ze_device_external_memory_properties_t);
SAME_FIELD(DeviceExternalMemoryProperties, stype, ze_device_external_memory_properties_t, stype);
SAME_FIELD(DeviceExternalMemoryProperties, next, ze_device_external_memory_properties_t, pNext);
SAME_FIELD(DeviceExternalMemoryProperties, memory_import_types, ze_device_external_memory_properties_t,
           memoryAllocationImportTypes);
SAME_FIELD(DeviceExternalMemoryProperties, memory_export_types, ze_device_external_memory_properties_t,
           memoryAllocationExportTypes);
SAME_FIELD(DeviceExternalMemoryProperties, image_import_types, ze_device_external_memory_properties_t,
           imageImportTypes);
SAME_FIELD(DeviceExternalMemoryProperties, image_export_types, ze_device_external_memory_properties_t,
           imageExportTypes);
SAME_SIZE(ContextDesc, ze_context_desc_t);
SAME_FIELD(ContextDesc, stype, ze_context_desc_t, stype);
SAME_FIELD(ContextDesc, next, ze_context_desc_t, pNext);
SAME_FIELD(ContextDesc, flags, ze_context_desc_t, flags);
SAME_SIZE(CommandQueueDesc, ze_command_queue_desc_t);
SAME_FIELD(CommandQueueDesc, stype, ze_command_queue_desc_t, stype);
SAME_FIELD(CommandQueueDesc, next, ze_command_queue_desc_t, pNext);
SAME_FIELD(CommandQueueDesc, ordinal, ze_command_queue_desc_t, ordinal);
SAME_FIELD(CommandQueueDesc, index, ze_command_queue_desc_t, index);
SAME_FIELD(CommandQueueDesc, flags, ze_command_queue_desc_t, flags);
SAME_FIELD(CommandQueueDesc, mode, ze_command_queue_desc_t, mode);
SAME_FIELD(CommandQueueDesc, priority, ze_command_queue_desc_t, priority);
SAME_SIZE(CommandListDesc, ze_command_list_desc_t);
SAME_FIELD(CommandListDesc, stype, ze_command_list_desc_t, stype);
SAME_FIELD(CommandListDesc, next, ze_command_list_desc_t, pNext);
SAME_FIELD(CommandListDesc, ordinal, ze_command_list_desc_t, commandQueueGroupOrdinal);
SAME_FIELD(CommandListDesc, flags, ze_command_list_desc_t, flags);
SAME_SIZE(FenceDesc, ze_fence_desc_t);
SAME_FIELD(FenceDesc, stype, ze_fence_desc_t, stype);
SAME_FIELD(FenceDesc, next, ze_fence_desc_t, pNext);
SAME_FIELD(FenceDesc, flags, ze_fence_desc_t, flags);
SAME_SIZE(EventPoolDesc, ze_event_pool_desc_t);
SAME_FIELD(EventPoolDesc, stype, ze_event_pool_desc_t, stype);
SAME_FIELD(EventPoolDesc, next, ze_event_pool_desc_t, pNext);
SAME_FIELD(EventPoolDesc, flags, ze_event_pool_desc_t, flags);
SAME_FIELD(EventPoolDesc, count, ze_event_pool_desc_t, count);
SAME_SIZE(EventDesc, ze_event_desc_t);
SAME_FIELD(EventDesc, stype, ze_event_desc_t, stype);
SAME_FIELD(EventDesc, next, ze_event_desc_t, pNext);
SAME_FIELD(EventDesc, index, ze_event_desc_t, index);
SAME_FIELD(EventDesc, signal, ze_event_desc_t, signal);
SAME_FIELD(EventDesc, wait, ze_event_desc_t, wait);
SAME_SIZE(KernelTimestamp, ze_kernel_timestamp_data_t);
SAME_FIELD(KernelTimestamp, start, ze_kernel_timestamp_data_t, kernelStart);
SAME_FIELD(KernelTimestamp, end, ze_kernel_timestamp_data_t, kernelEnd);
SAME_SIZE(KernelTimestampResult, ze_kernel_timestamp_result_t);
SAME_FIELD(KernelTimestampResult, global, ze_kernel_timestamp_result_t, global);
SAME_FIELD(KernelTimestampResult, context, ze_kernel_timestamp_result_t, context);
SAME_SIZE(DeviceMemAllocDesc, ze_device_mem_alloc_desc_t);
SAME_FIELD(DeviceMemAllocDesc, stype, ze_device_mem_alloc_desc_t, stype);
SAME_FIELD(DeviceMemAllocDesc, next, ze_device_mem_alloc_desc_t, pNext);
SAME_FIELD(DeviceMemAllocDesc, flags, ze_device_mem_alloc_desc_t, flags);
SAME_FIELD(DeviceMemAllocDesc, ordinal, ze_device_mem_alloc_desc_t, ordinal);
SAME_SIZE(HostMemAllocDesc, ze_host_mem_alloc_desc_t);
SAME_FIELD(HostMemAllocDesc, stype, ze_host_mem_alloc_desc_t, stype);
SAME_FIELD(HostMemAllocDesc, next, ze_host_mem_alloc_desc_t, pNext);
SAME_FIELD(HostMemAllocDesc, flags, ze_host_mem_alloc_desc_t, flags);
SAME_SIZE(MemoryAllocationProperties, ze_memory_allocation_properties_t);
SAME_FIELD(MemoryAllocationProperties, stype, ze_memory_allocation_properties_t, stype);
SAME_FIELD(MemoryAllocationProperties, next, ze_memory_allocation_properties_t, pNext);
SAME_FIELD(MemoryAllocationProperties, type, ze_memory_allocation_properties_t, type);
SAME_FIELD(MemoryAllocationProperties, id, ze_memory_allocation_properties_t, id);
SAME_FIELD(MemoryAllocationProperties, page_size, ze_memory_allocation_properties_t, pageSize);
SAME_SIZE(ExternalMemoryExportFd, ze_external_memory_export_fd_t);
SAME_FIELD(ExternalMemoryExportFd, stype, ze_external_memory_export_fd_t, stype);
SAME_FIELD(ExternalMemoryExportFd, next, ze_external_memory_export_fd_t, pNext);
SAME_FIELD(ExternalMemoryExportFd, flags, ze_external_memory_export_fd_t, flags);
SAME_FIELD(ExternalMemoryExportFd, fd, ze_external_memory_export_fd_t, fd);
SAME_SIZE(ExternalMemoryExportDesc, ze_external_memory_export_desc_t);
SAME_FIELD(ExternalMemoryExportDesc, next, ze_external_memory_export_desc_t, pNext);
SAME_FIELD(ExternalMemoryExportDesc, flags, ze_external_memory_export_desc_t, flags);
SAME_SIZE(ExternalMemoryImportFd, ze_external_memory_import_fd_t);
SAME_FIELD(ExternalMemoryImportFd, next, ze_external_memory_import_fd_t, pNext);
SAME_FIELD(ExternalMemoryImportFd, flags, ze_external_memory_import_fd_t, flags);
SAME_FIELD(ExternalMemoryImportFd, fd, ze_external_memory_import_fd_t, fd);
SAME_SIZE(PhysicalMemDesc, ze_physical_mem_desc_t);
SAME_FIELD(PhysicalMemDesc, next, ze_physical_mem_desc_t, pNext);
SAME_FIELD(PhysicalMemDesc, flags, ze_physical_mem_desc_t, flags);
SAME_FIELD(PhysicalMemDesc, size, ze_physical_mem_desc_t, size);
SAME_SIZE(MemoryFreeExtDesc, ze_memory_free_ext_desc_t);
SAME_FIELD(MemoryFreeExtDesc, stype, ze_memory_free_ext_desc_t, stype);
SAME_FIELD(MemoryFreeExtDesc, next, ze_memory_free_ext_desc_t, pNext);
SAME_FIELD(MemoryFreeExtDesc, policy, ze_memory_free_ext_desc_t, freePolicy);
SAME_SIZE(IpcMemHandle, ze_ipc_mem_handle_t);
SAME_FIELD(IpcMemHandle, data, ze_ipc_mem_handle_t, data);
SAME_SIZE(CopyRegion, ze_copy_region_t);
SAME_FIELD(CopyRegion, origin_x, ze_copy_region_t, originX);
SAME_FIELD(CopyRegion, origin_y, ze_copy_region_t, originY);
SAME_FIELD(CopyRegion, origin_z, ze_copy_region_t, originZ);
SAME_FIELD(CopyRegion, width, ze_copy_region_t, width);
SAME_FIELD(CopyRegion, height, ze_copy_region_t, height);
SAME_FIELD(CopyRegion, depth, ze_copy_region_t, depth);

SAME_FUNCTION(zeInit, ze_pfnInit_t);
SAME_FUNCTION(zeDriverGet, ze_pfnDriverGet_t);
SAME_FUNCTION(zeDriverGetApiVersion, ze_pfnDriverGetApiVersion_t);
SAME_FUNCTION(zeDriverGetProperties, ze_pfnDriverGetProperties_t);
SAME_FUNCTION(zeDriverGetIpcProperties, ze_pfnDriverGetIpcProperties_t);
SAME_FUNCTION(zeDriverGetExtensionProperties, ze_pfnDriverGetExtensionProperties_t);
SAME_FUNCTION(zeDriverGetExtensionFunctionAddress, ze_pfnDriverGetExtensionFunctionAddress_t);
SAME_FUNCTION(zeDeviceGet, ze_pfnDeviceGet_t);
SAME_FUNCTION(zeDeviceGetSubDevices, ze_pfnDeviceGetSubDevices_t);
SAME_FUNCTION(zeDeviceGetProperties, ze_pfnDeviceGetProperties_t);
SAME_FUNCTION(zeDeviceGetComputeProperties, ze_pfnDeviceGetComputeProperties_t);
SAME_FUNCTION(zeDeviceGetModuleProperties, ze_pfnDeviceGetModuleProperties_t);
SAME_FUNCTION(zeDeviceGetCommandQueueGroupProperties, ze_pfnDeviceGetCommandQueueGroupProperties_t);
SAME_FUNCTION(zeDeviceGetMemoryProperties, ze_pfnDeviceGetMemoryProperties_t);
SAME_FUNCTION(zeDeviceGetMemoryAccessProperties, ze_pfnDeviceGetMemoryAccessProperties_t);
SAME_FUNCTION(zeDeviceGetCacheProperties, ze_pfnDeviceGetCacheProperties_t);
SAME_FUNCTION(zeDeviceGetImageProperties, ze_pfnDeviceGetImageProperties_t);
SAME_FUNCTION(zeDeviceGetExternalMemoryProperties, ze_pfnDeviceGetExternalMemoryProperties_t);
SAME_FUNCTION(zeDeviceGetP2PProperties, ze_pfnDeviceGetP2PProperties_t);
SAME_FUNCTION(zeDeviceCanAccessPeer, ze_pfnDeviceCanAccessPeer_t);
SAME_FUNCTION(zeDeviceGetStatus, ze_pfnDeviceGetStatus_t);
SAME_FUNCTION(zeDeviceGetGlobalTimestamps, ze_pfnDeviceGetGlobalTimestamps_t);
SAME_FUNCTION(zeContextCreate, ze_pfnContextCreate_t);
SAME_FUNCTION(zeContextCreateEx, ze_pfnContextCreateEx_t);
SAME_FUNCTION(zeContextDestroy, ze_pfnContextDestroy_t);
SAME_FUNCTION(zeContextGetStatus, ze_pfnContextGetStatus_t);
SAME_FUNCTION(zeContextSystemBarrier, ze_pfnContextSystemBarrier_t);
SAME_FUNCTION(zeContextMakeMemoryResident, ze_pfnContextMakeMemoryResident_t);
SAME_FUNCTION(zeContextEvictMemory, ze_pfnContextEvictMemory_t);
SAME_FUNCTION(zeMemAllocDevice, ze_pfnMemAllocDevice_t);
SAME_FUNCTION(zeMemAllocHost, ze_pfnMemAllocHost_t);
SAME_FUNCTION(zeMemAllocShared, ze_pfnMemAllocShared_t);
SAME_FUNCTION(zeMemFree, ze_pfnMemFree_t);
SAME_FUNCTION(zeMemFreeExt, ze_pfnMemFreeExt_t);
SAME_FUNCTION(zeMemGetAllocProperties, ze_pfnMemGetAllocProperties_t);
SAME_FUNCTION(zeMemGetAddressRange, ze_pfnMemGetAddressRange_t);
SAME_FUNCTION(zeMemGetIpcHandle, ze_pfnMemGetIpcHandle_t);
SAME_FUNCTION(zeMemOpenIpcHandle, ze_pfnMemOpenIpcHandle_t);
SAME_FUNCTION(zeMemCloseIpcHandle, ze_pfnMemCloseIpcHandle_t);
SAME_FUNCTION(zeCommandQueueCreate, ze_pfnCommandQueueCreate_t);
SAME_FUNCTION(zeCommandQueueDestroy, ze_pfnCommandQueueDestroy_t);
SAME_FUNCTION(zeCommandQueueExecuteCommandLists, ze_pfnCommandQueueExecuteCommandLists_t);
SAME_FUNCTION(zeCommandQueueSynchronize, ze_pfnCommandQueueSynchronize_t);
SAME_FUNCTION(zeFenceCreate, ze_pfnFenceCreate_t);
SAME_FUNCTION(zeFenceDestroy, ze_pfnFenceDestroy_t);
SAME_FUNCTION(zeFenceHostSynchronize, ze_pfnFenceHostSynchronize_t);
SAME_FUNCTION(zeFenceQueryStatus, ze_pfnFenceQueryStatus_t);
SAME_FUNCTION(zeFenceReset, ze_pfnFenceReset_t);
SAME_FUNCTION(zeCommandListCreate, ze_pfnCommandListCreate_t);
SAME_FUNCTION(zeCommandListCreateImmediate, ze_pfnCommandListCreateImmediate_t);
SAME_FUNCTION(zeCommandListDestroy, ze_pfnCommandListDestroy_t);
SAME_FUNCTION(zeCommandListClose, ze_pfnCommandListClose_t);
SAME_FUNCTION(zeCommandListReset, ze_pfnCommandListReset_t);
SAME_FUNCTION(zeCommandListAppendBarrier, ze_pfnCommandListAppendBarrier_t);
SAME_FUNCTION(zeCommandListAppendMemoryRangesBarrier, ze_pfnCommandListAppendMemoryRangesBarrier_t);
SAME_FUNCTION(zeCommandListAppendMemoryCopy, ze_pfnCommandListAppendMemoryCopy_t);
SAME_FUNCTION(zeCommandListAppendMemoryFill, ze_pfnCommandListAppendMemoryFill_t);
SAME_FUNCTION(zeCommandListAppendMemoryCopyRegion, ze_pfnCommandListAppendMemoryCopyRegion_t);
SAME_FUNCTION(zeCommandListAppendMemoryCopyFromContext, ze_pfnCommandListAppendMemoryCopyFromContext_t);
SAME_FUNCTION(zeCommandListAppendMemoryPrefetch, ze_pfnCommandListAppendMemoryPrefetch_t);
SAME_FUNCTION(zeCommandListAppendMemAdvise, ze_pfnCommandListAppendMemAdvise_t);
SAME_FUNCTION(zeCommandListAppendSignalEvent, ze_pfnCommandListAppendSignalEvent_t);
SAME_FUNCTION(zeCommandListAppendWaitOnEvents, ze_pfnCommandListAppendWaitOnEvents_t);
SAME_FUNCTION(zeCommandListAppendEventReset, ze_pfnCommandListAppendEventReset_t);
SAME_FUNCTION(zeCommandListAppendWriteGlobalTimestamp, ze_pfnCommandListAppendWriteGlobalTimestamp_t);
SAME_FUNCTION(zeCommandListAppendQueryKernelTimestamps, ze_pfnCommandListAppendQueryKernelTimestamps_t);
SAME_FUNCTION(zeEventPoolCreate, ze_pfnEventPoolCreate_t);
SAME_FUNCTION(zeEventPoolDestroy, ze_pfnEventPoolDestroy_t);
SAME_FUNCTION(zeEventCreate, ze_pfnEventCreate_t);
SAME_FUNCTION(zeEventDestroy, ze_pfnEventDestroy_t);
SAME_FUNCTION(zeEventHostSignal, ze_pfnEventHostSignal_t);
SAME_FUNCTION(zeEventHostReset, ze_pfnEventHostReset_t);
SAME_FUNCTION(zeEventHostSynchronize, ze_pfnEventHostSynchronize_t);
SAME_FUNCTION(zeEventQueryStatus, ze_pfnEventQueryStatus_t);
SAME_FUNCTION(zeEventQueryKernelTimestamp, ze_pfnEventQueryKernelTimestamp_t);
SAME_FUNCTION(zePhysicalMemCreate, ze_pfnPhysicalMemCreate_t);
SAME_FUNCTION(zePhysicalMemDestroy, ze_pfnPhysicalMemDestroy_t);
SAME_FUNCTION(zeVirtualMemReserve, ze_pfnVirtualMemReserve_t);
SAME_FUNCTION(zeVirtualMemFree, ze_pfnVirtualMemFree_t);
SAME_FUNCTION(zeVirtualMemQueryPageSize, ze_pfnVirtualMemQueryPageSize_t);
SAME_FUNCTION(zeVirtualMemMap, ze_pfnVirtualMemMap_t);
SAME_FUNCTION(zeVirtualMemUnmap, ze_pfnVirtualMemUnmap_t);
SAME_FUNCTION(zeVirtualMemSetAccessAttribute, ze_pfnVirtualMemSetAccessAttribute_t);
SAME_FUNCTION(zeVirtualMemGetAccessAttribute, ze_pfnVirtualMemGetAccessAttribute_t);

// Newer than Debian 12's headers, which do not have this macro.
#ifdef ZE_API_VERSION_CURRENT_M
SAME_VALUE(kDeviceIpVersionExt, ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT);
SAME_VALUE(kInitDriverTypeDesc, ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC);
SAME_VALUE(kDriverTypeGpu, ZE_INIT_DRIVER_TYPE_FLAG_GPU);
SAME_VALUE(kDriverTypeNpu, ZE_INIT_DRIVER_TYPE_FLAG_NPU);
SAME_VALUE(kQueueInOrder, ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
SAME_VALUE(kListInOrder, ZE_COMMAND_LIST_FLAG_IN_ORDER);
SAME_VALUE(kListCloneable, ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE);
SAME_VALUE(kPoolMappedTimestamp, ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP);
SAME_SIZE(InitDriverTypeDesc, ze_init_driver_type_desc_t);
SAME_FIELD(InitDriverTypeDesc, next, ze_init_driver_type_desc_t, pNext);
SAME_FIELD(InitDriverTypeDesc, flags, ze_init_driver_type_desc_t, flags);
SAME_SIZE(DeviceIpVersionExt, ze_device_ip_version_ext_t);
SAME_FIELD(DeviceIpVersionExt, ip_version, ze_device_ip_version_ext_t, ipVersion);
SAME_VALUE(kPhysicalMemProperties, ZE_STRUCTURE_TYPE_PHYSICAL_MEM_PROPERTIES);
SAME_SIZE(PhysicalMemProperties, ze_physical_mem_properties_t);
SAME_FIELD(PhysicalMemProperties, next, ze_physical_mem_properties_t, pNext);
SAME_FIELD(PhysicalMemProperties, id, ze_physical_mem_properties_t, id);
SAME_FIELD(PhysicalMemProperties, size, ze_physical_mem_properties_t, size);
SAME_FUNCTION(zePhysicalMemGetProperties, ze_pfnPhysicalMemGetProperties_t);
SAME_FUNCTION(zeInitDrivers, ze_pfnInitDrivers_t);
SAME_FUNCTION(zeDriverGetLastErrorDescription, ze_pfnDriverGetLastErrorDescription_t);
SAME_FUNCTION(zeDriverGetDefaultContext, ze_pfnDriverGetDefaultContext_t);
SAME_FUNCTION(zeDeviceGetRootDevice, ze_pfnDeviceGetRootDevice_t);
SAME_FUNCTION(zeMemPutIpcHandle, ze_pfnMemPutIpcHandle_t);
SAME_FUNCTION(zeCommandListHostSynchronize, ze_pfnCommandListHostSynchronize_t);
#endif

int main() { return 0; }
