#include <cstring>

#include "cuda_cpu/driver.h"
#include "cuda_cpu/entry.h"

using namespace usm_ipc::cuda_cpu;

namespace {

// Of a device's side the driver knows all; that of the host it takes at its word.
bool holds(DevicePtr pointer, size_t bytes) {
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  DevicePtr base = 0;
  const Range* const range = driver.range_at(pointer, &base);
  return range != nullptr && bytes <= range->nbytes - (pointer - base);
}

Result to_device(DevicePtr to, const void* from, size_t bytes) {
  if (!holds(to, bytes)) return kInvalidValue;
  std::memmove(reinterpret_cast<void*>(to), from, bytes);
  return kSuccess;
}

Result from_device(void* to, DevicePtr from, size_t bytes) {
  if (!holds(from, bytes)) return kInvalidValue;
  std::memmove(to, reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}

Result on_device(DevicePtr to, DevicePtr from, size_t bytes) {
  if (!holds(to, bytes)) return kInvalidValue;
  return from_device(reinterpret_cast<void*>(to), from, bytes);
}

}  // namespace

CUDA_CALL(cuMemcpyHtoD_v2, DevicePtr to, const void* from, size_t bytes) {
  ENTER_IN_CONTEXT(cuMemcpyHtoD_v2);
  return to_device(to, from, bytes);
}

CUDA_CALL(cuMemcpyDtoH_v2, void* to, DevicePtr from, size_t bytes) {
  ENTER_IN_CONTEXT(cuMemcpyDtoH_v2);
  return from_device(to, from, bytes);
}

CUDA_CALL(cuMemcpyHtoDAsync_v2, DevicePtr to, const void* from, size_t bytes, Stream) {
  ENTER_IN_CONTEXT(cuMemcpyHtoDAsync_v2);
  return to_device(to, from, bytes);
}

CUDA_CALL(cuMemcpyDtoHAsync_v2, void* to, DevicePtr from, size_t bytes, Stream) {
  ENTER_IN_CONTEXT(cuMemcpyDtoHAsync_v2);
  return from_device(to, from, bytes);
}

CUDA_CALL(cuMemcpyDtoDAsync_v2, DevicePtr to, DevicePtr from, size_t bytes, Stream) {
  ENTER_IN_CONTEXT(cuMemcpyDtoDAsync_v2);
  return on_device(to, from, bytes);
}

CUDA_CALL(cuMemcpyPeerAsync, DevicePtr to, Context, DevicePtr from, Context, size_t bytes, Stream) {
  ENTER_IN_CONTEXT(cuMemcpyPeerAsync);
  return on_device(to, from, bytes);
}

CUDA_CALL(cuMemsetD8Async, DevicePtr to, unsigned char value, size_t bytes, Stream) {
  ENTER_IN_CONTEXT(cuMemsetD8Async);
  if (!holds(to, bytes)) return kInvalidValue;
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return kSuccess;
}
