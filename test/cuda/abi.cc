// Our declarations against NVIDIA's cuda.h. The functions are checked by text that abi.test.ts makes of functions.h.
#include <cuda.h>

#include <cstddef>
#include <type_traits>

#include "cuda/functions.h"

namespace ours = usm_ipc::cu;

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
constexpr bool same_argument = sizeof(Mine) == sizeof(Theirs) && std::is_pointer_v<Mine> == std::is_pointer_v<Theirs> &&
                               std::is_class_v<Mine> == std::is_class_v<Theirs>;

template <typename A, typename B, typename... Mine, typename... Theirs>
struct SameFunction<A(Mine...), B (*)(Theirs...)> {
  static constexpr bool check() {
    if constexpr (sizeof...(Mine) == sizeof...(Theirs)) return same_argument<A, B> && (same_argument<Mine, Theirs> && ...);
    return false;
  }
  static constexpr bool value = check();
};

#define SAME_FUNCTION(name) static_assert(SameFunction<ours::functions::name, decltype(&::name)>::value, #name)

SAME_VALUE(kSuccess, CUDA_SUCCESS);
SAME_VALUE(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME_VALUE(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME_VALUE(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME_VALUE(kDeinitialized, CUDA_ERROR_DEINITIALIZED);
SAME_VALUE(kNoDevice, CUDA_ERROR_NO_DEVICE);
SAME_VALUE(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME_VALUE(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME_VALUE(kMapFailed, CUDA_ERROR_MAP_FAILED);
SAME_VALUE(kAlreadyMapped, CUDA_ERROR_ALREADY_MAPPED);
SAME_VALUE(kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME_VALUE(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME_VALUE(kIllegalState, CUDA_ERROR_ILLEGAL_STATE);
SAME_VALUE(kNotFound, CUDA_ERROR_NOT_FOUND);
SAME_VALUE(kNotReady, CUDA_ERROR_NOT_READY);
SAME_VALUE(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME_VALUE(kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME_VALUE(kPeerAccessAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
SAME_VALUE(kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME_VALUE(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME_VALUE(kNotPermitted, CUDA_ERROR_NOT_PERMITTED);
SAME_VALUE(kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME_VALUE(kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME_VALUE(kCompatNotSupportedOnDevice, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
SAME_VALUE(kUnknown, CUDA_ERROR_UNKNOWN);

SAME_VALUE(kIpcMemLazyEnablePeerAccess, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
SAME_VALUE(kMemoryTypeHost, CU_MEMORYTYPE_HOST);
SAME_VALUE(kMemoryTypeDevice, CU_MEMORYTYPE_DEVICE);
SAME_VALUE(kPointerContext, CU_POINTER_ATTRIBUTE_CONTEXT);
SAME_VALUE(kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME_VALUE(kPointerDevicePointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
SAME_VALUE(kPointerBufferId, CU_POINTER_ATTRIBUTE_BUFFER_ID);
SAME_VALUE(kPointerIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME_VALUE(kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME_VALUE(kPointerIsLegacyIpcCapable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
SAME_VALUE(kPointerRangeStart, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME_VALUE(kPointerRangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME_VALUE(kPointerMapped, CU_POINTER_ATTRIBUTE_MAPPED);
SAME_VALUE(kPointerAllowedHandleTypes, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES);
SAME_VALUE(kPointerMemPool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
SAME_VALUE(kDeviceIntegrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
SAME_VALUE(kDeviceUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME_VALUE(kDeviceConcurrentManagedAccess, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
SAME_VALUE(kDeviceVirtualMemoryManagement, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME_VALUE(kDevicePosixFdSupported, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
SAME_VALUE(kDeviceMemoryPools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME_VALUE(kDeviceMemPoolHandleTypes, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES);
SAME_VALUE(kDeviceIpcEventSupported, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED);
SAME_VALUE(kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
SAME_VALUE(kMemAttachGlobal, CU_MEM_ATTACH_GLOBAL);
SAME_VALUE(kStreamDefault, CU_STREAM_DEFAULT);
SAME_VALUE(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME_VALUE(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME_VALUE(kEventInterprocess, CU_EVENT_INTERPROCESS);
SAME_VALUE(kMemAllocationPinned, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME_VALUE(kMemHandleNone, CU_MEM_HANDLE_TYPE_NONE);
SAME_VALUE(kMemHandlePosixFd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME_VALUE(kMemLocationDevice, CU_MEM_LOCATION_TYPE_DEVICE);
SAME_VALUE(kMemAccessReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME_VALUE(kGranularityMinimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
SAME_VALUE(kGranularityRecommended, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
SAME_VALUE(kMemPoolReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);

SAME_SIZE(Result, CUresult);
SAME_SIZE(Device, CUdevice);
SAME_SIZE(DevicePtr, CUdeviceptr);
SAME_SIZE(MemHandle, CUmemGenericAllocationHandle);
SAME_SIZE(Context, CUcontext);
SAME_SIZE(Stream, CUstream);
SAME_SIZE(Event, CUevent);
SAME_SIZE(MemPool, CUmemoryPool);
SAME_SIZE(Uuid, CUuuid);
SAME_SIZE(IpcMemHandle, CUipcMemHandle);
SAME_SIZE(IpcEventHandle, CUipcEventHandle);
SAME_SIZE(MemPoolPtrExportData, CUmemPoolPtrExportData);
SAME_SIZE(MemLocation, CUmemLocation);
SAME_FIELD(MemLocation, type, CUmemLocation, type);
SAME_FIELD(MemLocation, id, CUmemLocation, id);
SAME_SIZE(MemAllocationProp, CUmemAllocationProp);
SAME_FIELD(MemAllocationProp, type, CUmemAllocationProp, type);
SAME_FIELD(MemAllocationProp, requested_handle_types, CUmemAllocationProp, requestedHandleTypes);
SAME_FIELD(MemAllocationProp, location, CUmemAllocationProp, location);
SAME_FIELD(MemAllocationProp, win32_metadata, CUmemAllocationProp, win32HandleMetaData);
SAME_FIELD(MemAllocationProp, flags, CUmemAllocationProp, allocFlags);
SAME_SIZE(MemAccessDesc, CUmemAccessDesc);
SAME_FIELD(MemAccessDesc, location, CUmemAccessDesc, location);
SAME_FIELD(MemAccessDesc, flags, CUmemAccessDesc, flags);
SAME_SIZE(MemPoolProps, CUmemPoolProps);
SAME_FIELD(MemPoolProps, type, CUmemPoolProps, allocType);
SAME_FIELD(MemPoolProps, handle_types, CUmemPoolProps, handleTypes);
SAME_FIELD(MemPoolProps, location, CUmemPoolProps, location);
SAME_FIELD(MemPoolProps, max_size, CUmemPoolProps, maxSize);
SAME_FIELD(MemPoolProps, usage, CUmemPoolProps, usage);
