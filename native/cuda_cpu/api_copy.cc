// Copies and fills, by the host's processors.
#include <cstring>

#include "cuda_cpu/context.h"
#include "cuda_cpu/entry.h"
#include "cuda_cpu/stream.h"

using namespace usm_ipc::cuda_cpu;

namespace {

// What the driver knows to be memory of a device must be so when it is copied as well: somebody may have freed it.
struct Side {
  uint64_t address;
  bool is_device;
};

Side device_side(DevicePtr pointer) { return {pointer, true}; }
Side host_side(const void* pointer) { return {reinterpret_cast<uint64_t>(pointer), false}; }

Range* range_of(const Side& side, size_t bytes) {
  DevicePtr base = 0;
  Range* const range = Driver::instance().range_at(side.address, &base);
  return range != nullptr && range->accessible && bytes <= range->nbytes - (side.address - base) ? range : nullptr;
}

// Unified addressing: what no range holds is the host's.
Side any_side(DevicePtr pointer) {
  Lock lock(Driver::instance().mutex);
  return {pointer, Driver::instance().range_at(pointer) != nullptr};
}

// Memory stays for as long as it is copied; what is mapped as virtual memory can only be kept by the lock.
void touch(const std::vector<Side>& sides, size_t bytes, const std::function<void()>& what) {
  std::unique_lock<std::recursive_mutex> lock(Driver::instance().mutex);
  std::vector<std::shared_ptr<MappedFile>> kept;
  bool is_locked = false;
  for (const Side& side : sides) {
    const Range* const range = range_of(side, bytes);
    if (range == nullptr && side.is_device) return;
    if (range == nullptr) continue;
    kept.push_back(range->memory);
    is_locked |= range->memory == nullptr;
  }
  if (!is_locked) lock.unlock();
  what();
}

// Ordinary memory of the host is not the stream's: the caller may change it as soon as the call has returned.
bool is_pageable(const Side& side, size_t bytes) { return !side.is_device && range_of(side, bytes) == nullptr; }

Result give(const std::vector<Side>& sides, size_t bytes, Stream given, bool waits, const std::function<void()>& what) {
  if (bytes == 0) return kSuccess;
  Result why = kSuccess;
  StreamRef stream;
  {
    Lock lock(Driver::instance().mutex);
    for (const Side& side : sides) {
      if (side.is_device && range_of(side, bytes) == nullptr) return kInvalidValue;
      if (!side.is_device && side.address == 0) return kInvalidValue;
      waits |= is_pageable(side, bytes);
    }
    stream = find_stream(given, why);
  }
  if (stream == nullptr) return why;
  Work work;
  work.run = [sides, bytes, what] { touch(sides, bytes, what); };
  const uint64_t number = submit(stream, std::move(work));
  if (waits) wait_for(stream, number);
  return kSuccess;
}

Result copy(const Side& to, const Side& from, size_t bytes, Stream stream, bool waits) {
  return give({to, from}, bytes, stream, waits, [to, from, bytes] {
    std::memmove(reinterpret_cast<void*>(to.address), reinterpret_cast<const void*>(from.address), bytes);
  });
}

Result fill(DevicePtr to, unsigned char value, size_t bytes, Stream stream) {
  return give({device_side(to)}, bytes, stream, false,
              [to, value, bytes] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
}

}  // namespace

CUDA_CALL(cuMemcpyHtoD_v2, DevicePtr to, const void* from, size_t bytes) {
  ENTER_IN_CONTEXT(cuMemcpyHtoD_v2);
  return copy(device_side(to), host_side(from), bytes, nullptr, true);
}

CUDA_CALL(cuMemcpyDtoH_v2, void* to, DevicePtr from, size_t bytes) {
  ENTER_IN_CONTEXT(cuMemcpyDtoH_v2);
  return copy(host_side(to), device_side(from), bytes, nullptr, true);
}

CUDA_CALL(cuMemcpyDtoD_v2, DevicePtr to, DevicePtr from, size_t bytes) {
  ENTER_IN_CONTEXT(cuMemcpyDtoD_v2);
  return copy(device_side(to), device_side(from), bytes, nullptr, false);
}

CUDA_CALL(cuMemcpyHtoDAsync_v2, DevicePtr to, const void* from, size_t bytes, Stream stream) {
  ENTER_IN_CONTEXT(cuMemcpyHtoDAsync_v2);
  return copy(device_side(to), host_side(from), bytes, stream, false);
}

CUDA_CALL(cuMemcpyDtoHAsync_v2, void* to, DevicePtr from, size_t bytes, Stream stream) {
  ENTER_IN_CONTEXT(cuMemcpyDtoHAsync_v2);
  return copy(host_side(to), device_side(from), bytes, stream, false);
}

CUDA_CALL(cuMemcpyDtoDAsync_v2, DevicePtr to, DevicePtr from, size_t bytes, Stream stream) {
  ENTER_IN_CONTEXT(cuMemcpyDtoDAsync_v2);
  return copy(device_side(to), device_side(from), bytes, stream, false);
}

CUDA_CALL(cuMemcpyAsync, DevicePtr to, DevicePtr from, size_t bytes, Stream stream) {
  ENTER_IN_CONTEXT(cuMemcpyAsync);
  return copy(any_side(to), any_side(from), bytes, stream, false);
}

CUDA_CALL(cuMemcpyPeerAsync, DevicePtr to, Context to_context, DevicePtr from, Context from_context, size_t bytes,
          Stream stream) {
  ENTER_IN_CONTEXT(cuMemcpyPeerAsync);
  for (const Context context : {to_context, from_context}) {
    if (check_context(context) != kSuccess) return kInvalidContext;
    Lock lock(Driver::instance().mutex);
    if (!context->alive) return kContextIsDestroyed;
  }
  return copy(device_side(to), device_side(from), bytes, stream, false);
}

CUDA_CALL(cuMemsetD8_v2, DevicePtr to, unsigned char value, size_t bytes) {
  ENTER_IN_CONTEXT(cuMemsetD8_v2);
  return fill(to, value, bytes, nullptr);
}

CUDA_CALL(cuMemsetD8Async, DevicePtr to, unsigned char value, size_t bytes, Stream stream) {
  ENTER_IN_CONTEXT(cuMemsetD8Async);
  return fill(to, value, bytes, stream);
}
