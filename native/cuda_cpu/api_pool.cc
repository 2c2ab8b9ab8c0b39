#include "cuda_cpu/context.h"
#include "cuda_cpu/entry.h"
#include "cuda_cpu/pool.h"
#include "cuda_cpu/stream.h"

using namespace usm_ipc::cuda_cpu;

namespace {

Result allocate(DevicePtr* pointer, size_t bytes, MemPool given, Stream stream) {
  Result why = kSuccess;
  if (find_stream(stream, why) == nullptr) return why;
  Lock lock(Driver::instance().mutex);
  CUmemPoolHandle_st* const pool = known_pool(given);
  return pool == nullptr ? kInvalidValue : allocate_in_pool(pointer, bytes, *pool);
}

}  // namespace

CUDA_CALL(cuMemPoolCreate, MemPool* out, const MemPoolProps* props) {
  ENTER(cuMemPoolCreate);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (out == nullptr || props == nullptr || props->type != kMemAllocationPinned) return kInvalidValue;
  if (props->location.type != kMemLocationDevice || !driver.is_device(props->location.id)) return kInvalidDevice;
  if ((props->handle_types & ~kMemHandlePosixFd) != 0) return kNotSupported;
  CUmemPoolHandle_st* const pool = make_pool(props->location.id, props->handle_types);
  if (pool == nullptr) return kOutOfMemory;
  *out = pool;
  return kSuccess;
}

CUDA_CALL(cuMemPoolDestroy, MemPool given) {
  ENTER(cuMemPoolDestroy);
  Lock lock(Driver::instance().mutex);
  CUmemPoolHandle_st* const pool = known_pool(given);
  return pool == nullptr ? kInvalidValue : destroy_pool(pool);
}

CUDA_CALL(cuDeviceGetDefaultMemPool, MemPool* out, Device device) {
  ENTER(cuDeviceGetDefaultMemPool);
  Lock lock(Driver::instance().mutex);
  if (out == nullptr) return kInvalidValue;
  if (!Driver::instance().is_device(device)) return kInvalidDevice;
  *out = default_pool(device);
  return *out == nullptr ? kOutOfMemory : kSuccess;
}

// Every device reads and writes them all, and what is freed is kept by none: both only check what they are given.
CUDA_CALL(cuMemPoolSetAccess, MemPool given, const MemAccessDesc* descriptions, size_t count) {
  ENTER(cuMemPoolSetAccess);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (known_pool(given) == nullptr || descriptions == nullptr || count == 0) return kInvalidValue;
  for (size_t i = 0; i < count; i++) {
    if (!driver.is_device(descriptions[i].location.id)) return kInvalidDevice;
  }
  return kSuccess;
}

CUDA_CALL(cuMemPoolSetAttribute, MemPool given, MemPoolAttribute attribute, void* value) {
  ENTER(cuMemPoolSetAttribute);
  Lock lock(Driver::instance().mutex);
  const bool is_good = known_pool(given) != nullptr && attribute == kMemPoolReleaseThreshold && value != nullptr;
  return is_good ? kSuccess : kInvalidValue;
}

CUDA_CALL(cuMemAllocFromPoolAsync, DevicePtr* pointer, size_t bytes, MemPool pool, Stream stream) {
  ENTER_IN_CONTEXT(cuMemAllocFromPoolAsync);
  return allocate(pointer, bytes, pool, stream);
}

CUDA_CALL(cuMemAllocAsync, DevicePtr* pointer, size_t bytes, Stream stream) {
  ENTER_IN_CONTEXT(cuMemAllocAsync);
  MemPool pool = nullptr;
  {
    Lock lock(Driver::instance().mutex);
    pool = default_pool(current_device());
  }
  return pool == nullptr ? kOutOfMemory : allocate(pointer, bytes, pool, stream);
}

// Freed when the stream comes to it; from now on for who would free it again.
CUDA_CALL(cuMemFreeAsync, DevicePtr pointer, Stream given) {
  ENTER_IN_CONTEXT(cuMemFreeAsync);
  Result why = kSuccess;
  const StreamRef stream = find_stream(given, why);
  if (stream == nullptr) return why;
  Driver& driver = Driver::instance();
  Work work;
  {
    Lock lock(driver.mutex);
    const auto found = driver.ranges.find(pointer);
    if (found == driver.ranges.end() || found->second.pool == nullptr || found->second.is_freed) return kInvalidValue;
    found->second.is_freed = true;
    work.run = [&driver, pointer, id = found->second.id] {
      Lock again(driver.mutex);
      const auto range = driver.ranges.find(pointer);
      if (range != driver.ranges.end() && range->second.id == id) free_in_pool(range);
    };
  }
  submit(stream, std::move(work));
  return kSuccess;
}
