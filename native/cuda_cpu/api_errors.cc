#include "cuda_cpu/entry.h"

using namespace usm_ipc::cuda_cpu;

namespace {

struct Known {
  Result result;
  const char* name;
  const char* text;
};

constexpr Known kKnown[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "not initialized in this process"},
    {kDeinitialized, "CUDA_ERROR_DEINITIALIZED", "the driver is shutting down"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no device is visible"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "no such device"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "no valid context is current"},
    {kMapFailed, "CUDA_ERROR_MAP_FAILED", "could not be mapped"},
    {kAlreadyMapped, "CUDA_ERROR_ALREADY_MAPPED", "mapped already"},
    {kEccUncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable memory error"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid handle"},
    {kIllegalState, "CUDA_ERROR_ILLEGAL_STATE", "not in this state"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "not ready"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "illegal address"},
    {kLaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "timed out"},
    {kPeerAccessAlreadyEnabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is enabled already"},
    {kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context is destroyed"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "launch failed"},
    {kNotPermitted, "CUDA_ERROR_NOT_PERMITTED", "not permitted"},
    {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "not supported"},
    {kSystemDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "kernel and user drivers do not match"},
    {kCompatNotSupportedOnDevice, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "no forward compatibility on this device"},
    {kUnknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

Result look_up(Result result, const char** out, const char* Known::*what) {
  if (out == nullptr) return kInvalidValue;
  *out = nullptr;
  for (const Known& known : kKnown) {
    if (known.result != result) continue;
    *out = known.*what;
    return kSuccess;
  }
  return kInvalidValue;
}

}  // namespace

CUDA_CALL(cuGetErrorName, Result error, const char** name) { return look_up(error, name, &Known::name); }
CUDA_CALL(cuGetErrorString, Result error, const char** text) { return look_up(error, text, &Known::text); }
