// CUDA's driver ABI, as far as this package uses it: types, constants, structures. Our own declarations, so that no toolkit
// is needed to build; a test compares them with NVIDIA's cuda.h. The functions are in functions.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace usm_ipc::cu {

using Result = uint32_t;
using Device = int;
using DevicePtr = unsigned long long;
using MemHandle = unsigned long long;  // CUmemGenericAllocationHandle

using Context = struct CUctx_st*;
using Stream = struct CUstream_st*;
using Event = struct CUevent_st*;
using MemPool = struct CUmemPoolHandle_st*;

constexpr Result kSuccess = 0;
constexpr Result kInvalidValue = 1;
constexpr Result kOutOfMemory = 2;
constexpr Result kNotInitialized = 3;
constexpr Result kDeinitialized = 4;
constexpr Result kNoDevice = 100;
constexpr Result kInvalidDevice = 101;
constexpr Result kInvalidContext = 201;
constexpr Result kMapFailed = 205;
constexpr Result kAlreadyMapped = 208;
constexpr Result kEccUncorrectable = 214;
constexpr Result kInvalidHandle = 400;
constexpr Result kIllegalState = 401;
constexpr Result kNotFound = 500;
constexpr Result kNotReady = 600;
constexpr Result kIllegalAddress = 700;
constexpr Result kLaunchTimeout = 702;
constexpr Result kPeerAccessAlreadyEnabled = 704;
constexpr Result kContextIsDestroyed = 709;
constexpr Result kLaunchFailed = 719;
constexpr Result kNotPermitted = 800;
constexpr Result kNotSupported = 801;
constexpr Result kSystemDriverMismatch = 803;
constexpr Result kCompatNotSupportedOnDevice = 804;
constexpr Result kUnknown = 999;

struct Uuid {
  char bytes[16];
};

struct IpcMemHandle {
  char reserved[64];
};

struct IpcEventHandle {
  char reserved[64];
};

struct MemPoolPtrExportData {
  unsigned char reserved[64];
};

constexpr unsigned kIpcMemLazyEnablePeerAccess = 1;

// CUmemorytype
constexpr unsigned kMemoryTypeHost = 1;
constexpr unsigned kMemoryTypeDevice = 2;

// CUpointer_attribute
using PointerAttribute = uint32_t;
constexpr PointerAttribute kPointerContext = 1;
constexpr PointerAttribute kPointerMemoryType = 2;
constexpr PointerAttribute kPointerDevicePointer = 3;
constexpr PointerAttribute kPointerBufferId = 7;
constexpr PointerAttribute kPointerIsManaged = 8;
constexpr PointerAttribute kPointerDeviceOrdinal = 9;
constexpr PointerAttribute kPointerIsLegacyIpcCapable = 10;
constexpr PointerAttribute kPointerRangeStart = 11;
constexpr PointerAttribute kPointerRangeSize = 12;
constexpr PointerAttribute kPointerMapped = 13;
constexpr PointerAttribute kPointerAllowedHandleTypes = 14;
constexpr PointerAttribute kPointerMemPool = 17;

// CUdevice_attribute
using DeviceAttribute = uint32_t;
constexpr DeviceAttribute kDeviceIntegrated = 18;
constexpr DeviceAttribute kDeviceUnifiedAddressing = 41;
constexpr DeviceAttribute kDeviceConcurrentManagedAccess = 89;
constexpr DeviceAttribute kDeviceVirtualMemoryManagement = 102;
constexpr DeviceAttribute kDevicePosixFdSupported = 103;
constexpr DeviceAttribute kDeviceMemoryPools = 115;
constexpr DeviceAttribute kDeviceMemPoolHandleTypes = 119;
constexpr DeviceAttribute kDeviceIpcEventSupported = 125;

constexpr unsigned kHostAllocPortable = 1;
constexpr unsigned kMemAttachGlobal = 1;

constexpr unsigned kStreamDefault = 0;
constexpr unsigned kStreamNonBlocking = 1;

constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kEventInterprocess = 4;

// Virtual memory management
using MemAllocationType = uint32_t;
constexpr MemAllocationType kMemAllocationPinned = 1;

using MemHandleType = uint32_t;  // CUmemAllocationHandleType, a bit mask where several are meant
constexpr MemHandleType kMemHandleNone = 0;
constexpr MemHandleType kMemHandlePosixFd = 1;

using MemLocationType = uint32_t;
constexpr MemLocationType kMemLocationDevice = 1;

using MemAccessFlags = uint32_t;
constexpr MemAccessFlags kMemAccessReadWrite = 3;

using GranularityFlags = uint32_t;
constexpr GranularityFlags kGranularityMinimum = 0;
constexpr GranularityFlags kGranularityRecommended = 1;

struct MemLocation {
  MemLocationType type;
  int id;
};

struct MemAllocationProp {
  MemAllocationType type;
  MemHandleType requested_handle_types;
  MemLocation location;
  void* win32_metadata;
  struct {
    unsigned char compression;
    unsigned char rdma_capable;
    unsigned short usage;
    unsigned char reserved[4];
  } flags;
};

struct MemAccessDesc {
  MemLocation location;
  MemAccessFlags flags;
};

struct MemPoolProps {
  MemAllocationType type;
  MemHandleType handle_types;
  MemLocation location;
  void* win32_attributes;
  size_t max_size;
  unsigned short usage;
  unsigned char reserved[54];
};

// CUmemPool_attribute
using MemPoolAttribute = uint32_t;
constexpr MemPoolAttribute kMemPoolReleaseThreshold = 4;

}  // namespace usm_ipc::cu
