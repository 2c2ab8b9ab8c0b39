#include "cuda_cpu/context.h"
#include "cuda_cpu/entry.h"
#include "cuda_cpu/stream.h"

namespace usm_ipc::cuda_cpu {
namespace {

thread_local std::vector<CUctx_st*> contexts;

CUctx_st* pop() {
  if (contexts.empty()) return nullptr;
  CUctx_st* const context = contexts.back();
  contexts.pop_back();
  return context;
}

}  // namespace

CUctx_st* current_context() { return contexts.empty() ? nullptr : contexts.back(); }
int current_device() { return current_context()->device; }

Result check_context(Context context) {
  for (const PhysicalDevice& device : Driver::instance().devices) {
    if (context == &device.context) return kSuccess;
  }
  return kInvalidContext;
}

Result enter_in_context(const char* function) {
  const Result result = enter(function);
  if (result != kSuccess) return result;
  Lock lock(Driver::instance().mutex);
  const CUctx_st* const context = current_context();
  if (context == nullptr) return kInvalidContext;
  return context->alive ? kSuccess : kContextIsDestroyed;
}

}  // namespace usm_ipc::cuda_cpu

using namespace usm_ipc::cuda_cpu;

CUDA_CALL(cuDevicePrimaryCtxRetain, Context* context, Device device) {
  ENTER(cuDevicePrimaryCtxRetain);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (!driver.is_device(device)) return kInvalidDevice;
  if (context == nullptr) return kInvalidValue;
  *context = &driver.devices[device].context;
  if (!(*context)->alive) (*context)->id = ++driver.last_id;
  (*context)->alive = true;
  ++(*context)->retained;
  return kSuccess;
}

CUDA_CALL(cuDevicePrimaryCtxRelease_v2, Device device) {
  ENTER(cuDevicePrimaryCtxRelease_v2);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (!driver.is_device(device)) return kInvalidDevice;
  CUctx_st& context = driver.devices[device].context;
  if (context.retained == 0) return kInvalidContext;
  if (--context.retained == 0) driver.reset(device);
  return kSuccess;
}

CUDA_CALL(cuDevicePrimaryCtxReset_v2, Device device) {
  ENTER(cuDevicePrimaryCtxReset_v2);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (!driver.is_device(device)) return kInvalidDevice;
  driver.reset(device);
  return kSuccess;
}

CUDA_CALL(cuDevicePrimaryCtxGetState, Device device, unsigned* flags, int* active) {
  ENTER(cuDevicePrimaryCtxGetState);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (!driver.is_device(device)) return kInvalidDevice;
  if (flags == nullptr || active == nullptr) return kInvalidValue;
  *flags = 0;
  *active = driver.devices[device].context.alive ? 1 : 0;
  return kSuccess;
}

CUDA_CALL(cuCtxGetCurrent, Context* context) {
  ENTER(cuCtxGetCurrent);
  if (context == nullptr) return kInvalidValue;
  *context = current_context();
  return kSuccess;
}

CUDA_CALL(cuCtxSetCurrent, Context context) {
  ENTER(cuCtxSetCurrent);
  if (context != nullptr && check_context(context) != kSuccess) return kInvalidContext;
  pop();
  if (context != nullptr) contexts.push_back(context);
  return kSuccess;
}

CUDA_CALL(cuCtxPushCurrent_v2, Context context) {
  ENTER(cuCtxPushCurrent_v2);
  const Result result = check_context(context);
  if (result == kSuccess) contexts.push_back(context);
  return result;
}

CUDA_CALL(cuCtxPopCurrent_v2, Context* context) {
  ENTER(cuCtxPopCurrent_v2);
  CUctx_st* const popped = pop();
  if (popped == nullptr) return kInvalidContext;
  if (context != nullptr) *context = popped;
  return kSuccess;
}

CUDA_CALL(cuCtxGetDevice, Device* device) {
  ENTER_IN_CONTEXT(cuCtxGetDevice);
  if (device == nullptr) return kInvalidValue;
  *device = current_device();
  return kSuccess;
}

// By it a context is told from the one that was made anew at its address.
CUDA_CALL(cuCtxGetId, Context given, unsigned long long* id) {
  ENTER(cuCtxGetId);
  Lock lock(Driver::instance().mutex);
  const Context context = given == nullptr ? current_context() : given;
  if (id == nullptr) return kInvalidValue;
  if (check_context(context) != kSuccess) return kInvalidContext;
  if (!context->alive) return kContextIsDestroyed;
  *id = context->id;
  return kSuccess;
}

CUDA_CALL(cuCtxSynchronize) {
  ENTER_IN_CONTEXT(cuCtxSynchronize);
  wait_for_device(current_device());
  return kSuccess;
}

CUDA_CALL(cuCtxEnablePeerAccess, Context peer, unsigned flags) {
  ENTER_IN_CONTEXT(cuCtxEnablePeerAccess);
  Lock lock(Driver::instance().mutex);
  if (flags != 0) return kInvalidValue;
  if (check_context(peer) != kSuccess || peer == current_context()) return kInvalidContext;
  if (!peer->alive) return kContextIsDestroyed;
  const uint64_t bit = uint64_t{1} << peer->device;
  if ((current_context()->peers & bit) != 0) return kPeerAccessAlreadyEnabled;
  current_context()->peers |= bit;
  return kSuccess;
}
