// The loader's functions, and what becomes of their results.
#pragma once

#include <string>

#include "failure.h"
#include "level_zero/abi.h"

namespace usm_ipc {

#define USM_IPC_LEVEL_ZERO_FUNCTIONS(X) \
  X(zeInit)                             \
  X(zeDriverGet)                        \
  X(zeDriverGetExtensionFunctionAddress) \
  X(zeDeviceGet)                        \
  X(zeDeviceGetSubDevices)              \
  X(zeDeviceGetProperties)              \
  X(zeDeviceGetMemoryProperties)        \
  X(zeDeviceGetCommandQueueGroupProperties) \
  X(zeContextCreate)                    \
  X(zeContextDestroy)                   \
  X(zeMemAllocDevice)                   \
  X(zeMemAllocHost)                     \
  X(zeMemAllocShared)                   \
  X(zeMemFree)                          \
  X(zeMemGetAllocProperties)            \
  X(zeMemGetAddressRange)               \
  X(zeMemGetIpcHandle)                  \
  X(zeMemOpenIpcHandle)                 \
  X(zeMemCloseIpcHandle)                \
  X(zeCommandListCreateImmediate)       \
  X(zeCommandListAppendMemoryCopy)      \
  X(zeCommandListAppendMemoryFill)

struct LevelZeroApi {
#define USM_IPC_MEMBER(name) ze::functions::name* name = nullptr;
  USM_IPC_LEVEL_ZERO_FUNCTIONS(USM_IPC_MEMBER)
#undef USM_IPC_MEMBER
  ze::functions::zeMemPutIpcHandle* zeMemPutIpcHandle = nullptr;  // null before 1.6: free() puts there
};

// Throws Failure{state, "no-loader"}.
const LevelZeroApi& level_zero_api();

// Throws the driver failure of a call that has not succeeded.
void require(const char* call, ze::Result result, const std::string& advice = "");

// What a driver did without an error but must not have done. The result is the reason.
Failure level_zero_failure(const char* call, const char* reason, const std::string& message);

}  // namespace usm_ipc
