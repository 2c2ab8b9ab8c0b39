// Pools and their pointers between processes.
#include <unistd.h>

#include <cstring>

#include "cuda_cpu/context.h"
#include "cuda_cpu/entry.h"
#include "cuda_cpu/pool.h"

using namespace usm_ipc::cuda_cpu;

namespace {

struct PointerData {
  uint32_t process;
  uint32_t zero;
  uint64_t one;
  uint64_t pool;
  uint64_t offset;
  uint64_t nbytes;
  uint64_t rest[3];
};
static_assert(sizeof(PointerData) == sizeof(MemPoolPtrExportData));

bool is_of(const PointerData& data, const CUmemPoolHandle_st& pool) {
  if (data.one != 1 || data.pool != pool.id || data.process != pool.id >> 32) return false;
  return data.nbytes != 0 && data.offset <= kPoolRoom && data.nbytes <= kPoolRoom - data.offset;
}

}  // namespace

CUDA_CALL(cuMemPoolExportToShareableHandle, void* shareable, MemPool given, MemHandleType type, unsigned long long flags) {
  ENTER(cuMemPoolExportToShareableHandle);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  CUmemPoolHandle_st* const pool = known_pool(given);
  if (shareable == nullptr || pool == nullptr || pool->imported || type != kMemHandlePosixFd || flags != 0) return kInvalidValue;
  if ((pool->handle_types & kMemHandlePosixFd) == 0) return kInvalidValue;
  const int fd = export_file(*pool->memory->file, {kShareableMagic, 2, kPoolRoom, pool->id, driver.devices[pool->device].number,
                                                   pool->memory->file->token, 0});
  if (fd < 0) return kUnknown;
  pool->exported = true;
  std::memcpy(shareable, &fd, sizeof fd);
  return kSuccess;
}

CUDA_CALL(cuMemPoolImportFromShareableHandle, MemPool* out, void* shareable, MemHandleType type, unsigned long long flags) {
  ENTER(cuMemPoolImportFromShareableHandle);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (out == nullptr || type != kMemHandlePosixFd || flags != 0) return kInvalidValue;
  Shareable about{};
  auto file = import_file(static_cast<int>(reinterpret_cast<intptr_t>(shareable)), about);
  if (file == nullptr) return kUnknown;
  if (about.kind != 2) return kNotSupported;
  const int device = driver.device_of_number(about.device);
  if (device < 0) return kInvalidDevice;
  for (CUmemPoolHandle_st* const pool : driver.pools) {
    if (!pool->imported || pool->id != about.id || pool->destroyed) continue;
    ++pool->imports;
    *out = pool;
    return kSuccess;
  }
  auto memory = map_file(std::move(file), kPoolRoom);
  if (memory == nullptr) return kOutOfMemory;
  *out = import_pool(about, device, std::move(memory));
  return kSuccess;
}

CUDA_CALL(cuMemPoolExportPointer, MemPoolPtrExportData* out, DevicePtr pointer) {
  ENTER_IN_CONTEXT(cuMemPoolExportPointer);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto found = driver.ranges.find(pointer);
  if (out == nullptr || found == driver.ranges.end()) return kInvalidValue;
  if (found->second.origin != Origin::pool || !found->second.pool->exported) return kInvalidValue;
  const CUmemPoolHandle_st& pool = *found->second.pool;
  PointerData data{};
  data.process = static_cast<uint32_t>(::getpid());
  data.one = 1;
  data.pool = pool.id;
  data.offset = pointer - base_of(pool);
  data.nbytes = found->second.nbytes;
  std::memcpy(out, &data, sizeof data);
  return kSuccess;
}

// One address however often it is imported, which the first free ends.
CUDA_CALL(cuMemPoolImportPointer, DevicePtr* pointer, MemPool given, MemPoolPtrExportData* in) {
  ENTER_IN_CONTEXT(cuMemPoolImportPointer);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  CUmemPoolHandle_st* const pool = known_pool(given);
  if (pointer == nullptr || in == nullptr || pool == nullptr || !pool->imported) return kInvalidValue;
  PointerData data;
  std::memcpy(&data, in, sizeof data);
  if (!is_of(data, *pool)) return kInvalidValue;
  *pointer = base_of(*pool) + data.offset;
  pool->allocations[data.offset] = data.nbytes;
  Range range = driver.new_range(data.nbytes, Origin::imported, pool->device);
  range.pool = pool;
  range.memory = pool->memory;
  driver.ranges[*pointer] = std::move(range);
  return kSuccess;
}
