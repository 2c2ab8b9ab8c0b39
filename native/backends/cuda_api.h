// The driver library's functions, and what becomes of their results.
#pragma once

#include <string>

#include "cuda/functions.h"
#include "failure.h"

namespace usm_ipc {

#define USM_IPC_CUDA_FUNCTIONS(X)           \
  X(cuInit)                                 \
  X(cuGetErrorName)                         \
  X(cuDeviceGetCount)                       \
  X(cuDeviceGet)                            \
  X(cuDeviceGetName)                        \
  X(cuDeviceGetUuid_v2)                     \
  X(cuDeviceTotalMem_v2)                    \
  X(cuDeviceGetAttribute)                   \
  X(cuDevicePrimaryCtxRetain)               \
  X(cuCtxGetCurrent)                        \
  X(cuCtxPushCurrent_v2)                    \
  X(cuCtxPopCurrent_v2)                     \
  X(cuCtxSynchronize)                       \
  X(cuMemGetInfo_v2)                        \
  X(cuMemAlloc_v2)                          \
  X(cuMemFree_v2)                           \
  X(cuMemGetAddressRange_v2)                \
  X(cuMemHostAlloc)                         \
  X(cuMemFreeHost)                          \
  X(cuMemAllocManaged)                      \
  X(cuPointerGetAttribute)                  \
  X(cuIpcGetMemHandle)                      \
  X(cuIpcOpenMemHandle_v2)                  \
  X(cuIpcCloseMemHandle)                    \
  X(cuIpcGetEventHandle)                    \
  X(cuIpcOpenEventHandle)                   \
  X(cuMemGetAllocationGranularity)          \
  X(cuMemCreate)                            \
  X(cuMemRelease)                           \
  X(cuMemAddressReserve)                    \
  X(cuMemAddressFree)                       \
  X(cuMemMap)                               \
  X(cuMemUnmap)                             \
  X(cuMemSetAccess)                         \
  X(cuMemExportToShareableHandle)           \
  X(cuMemImportFromShareableHandle)         \
  X(cuMemGetAllocationPropertiesFromHandle) \
  X(cuMemRetainAllocationHandle)            \
  X(cuMemPoolCreate)                        \
  X(cuMemPoolDestroy)                       \
  X(cuMemPoolExportToShareableHandle)       \
  X(cuMemPoolImportFromShareableHandle)     \
  X(cuMemPoolExportPointer)                 \
  X(cuMemPoolImportPointer)                 \
  X(cuMemAllocFromPoolAsync)                \
  X(cuMemFreeAsync)                         \
  X(cuStreamCreate)                         \
  X(cuStreamDestroy_v2)                     \
  X(cuStreamSynchronize)                    \
  X(cuStreamWaitEvent)                      \
  X(cuEventCreate)                          \
  X(cuEventDestroy_v2)                      \
  X(cuEventRecord)                          \
  X(cuEventQuery)                           \
  X(cuEventSynchronize)                     \
  X(cuMemcpyHtoD_v2)                        \
  X(cuMemcpyDtoH_v2)                        \
  X(cuMemcpyHtoDAsync_v2)                   \
  X(cuMemcpyDtoHAsync_v2)                   \
  X(cuMemcpyDtoDAsync_v2)                   \
  X(cuMemcpyPeerAsync)                      \
  X(cuMemsetD8Async)

struct CudaApi {
#define USM_IPC_MEMBER(name) cu::functions::name* name = nullptr;
  USM_IPC_CUDA_FUNCTIONS(USM_IPC_MEMBER)
#undef USM_IPC_MEMBER
  // Of CUDA 12; null before.
  cu::functions::cuCtxGetId* cuCtxGetId = nullptr;
  bool software = false;  // the software driver of the tests
};

// Initialized. Throws Failure{state, "no-driver"} or the failure of cuInit.
const CudaApi& cuda();

std::string cuda_result_name(cu::Result result);

// Throws the driver failure of a call that has not succeeded.
void require_cuda(const char* call, cu::Result result, const std::string& advice = "");

// What the driver did without an error but must not have done. The result is the reason.
Failure cuda_failure(const char* call, const char* reason, const std::string& message);

#define USM_IPC_CUDA(function, ...) require_cuda(#function, cuda().function(__VA_ARGS__))

}  // namespace usm_ipc
