#include "cuda_cpu/pool.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "cuda_cpu/entry.h"

using namespace usm_ipc::cuda_cpu;

namespace {

constexpr uint64_t kRoom = 1ull << 30;  // of a pool: sparse
constexpr uint64_t kStep = 512;

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

DevicePtr base_of(const CUmemPoolHandle_st& pool) { return reinterpret_cast<DevicePtr>(pool.memory->base); }

CUmemPoolHandle_st* known(Driver& driver, MemPool pool) {
  const auto found = std::find(driver.pools.begin(), driver.pools.end(), pool);
  return found == driver.pools.end() ? nullptr : *found;
}

CUmemPoolHandle_st* default_pool(Driver& driver) {
  static CUmemPoolHandle_st* pool = nullptr;
  if (pool == nullptr) {
    pool = new CUmemPoolHandle_st;
    pool->id = ++driver.last_id;
    pool->memory = map_file(make_file(kRoom), kRoom);
    driver.pools.push_back(pool);
  }
  return pool;
}

void forget(Driver& driver, CUmemPoolHandle_st* pool) {
  driver.pools.remove(pool);
  delete pool;
}

// The first gap that is large enough.
bool place(CUmemPoolHandle_st& pool, uint64_t nbytes, uint64_t& offset) {
  offset = 0;
  for (const auto& [at, size] : pool.allocations) {
    if (at - offset >= nbytes) break;
    offset = (at + size + kStep - 1) / kStep * kStep;
  }
  return offset <= kRoom && nbytes <= kRoom - offset;
}

Result allocate(DevicePtr* pointer, uint64_t nbytes, CUmemPoolHandle_st& pool) {
  Driver& driver = Driver::instance();
  uint64_t offset = 0;
  if (nbytes == 0 || pool.imported) return kInvalidValue;
  if (!driver.take(pool.device, nbytes)) return kOutOfMemory;
  if (pool.memory == nullptr || !place(pool, nbytes, offset)) {
    driver.give(pool.device, nbytes);
    return kOutOfMemory;
  }
  pool.allocations[offset] = nbytes;
  *pointer = base_of(pool) + offset;
  Range range;
  range.nbytes = nbytes;
  range.origin = Origin::pool;
  range.device = pool.device;
  range.id = ++driver.last_id;
  range.pool = &pool;
  range.handle_types = pool.handle_types;
  driver.ranges[*pointer] = std::move(range);
  return kSuccess;
}

}  // namespace

CUDA_CALL(cuMemPoolCreate, MemPool* out, const MemPoolProps* props) {
  ENTER(cuMemPoolCreate);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const int device = props->location.id;
  if (device < 0 || device >= static_cast<int>(driver.devices.size())) return kInvalidDevice;
  auto pool = std::make_unique<CUmemPoolHandle_st>();
  pool->memory = map_file(make_file(kRoom), kRoom);
  if (pool->memory == nullptr || pool->memory->file == nullptr) return kOutOfMemory;
  pool->id = (uint64_t{static_cast<uint32_t>(::getpid())} << 32) + ++driver.last_id;
  pool->process = ::getpid();
  pool->device = device;
  pool->handle_types = props->handle_types;
  driver.pools.push_back(pool.get());
  *out = pool.release();
  return kSuccess;
}

CUDA_CALL(cuMemPoolDestroy, MemPool given) {
  ENTER(cuMemPoolDestroy);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  CUmemPoolHandle_st* const pool = known(driver, given);
  if (pool == nullptr || pool->destroyed) return kInvalidValue;
  if (pool->imported && --pool->imports > 0) return kSuccess;
  pool->destroyed = true;
  if (pool->allocations.empty()) forget(driver, pool);
  return kSuccess;
}

CUDA_CALL(cuDeviceGetDefaultMemPool, MemPool* pool, Device) {
  ENTER(cuDeviceGetDefaultMemPool);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  *pool = default_pool(driver);
  return kSuccess;
}

CUDA_CALL(cuMemAllocFromPoolAsync, DevicePtr* pointer, size_t bytes, MemPool given, Stream) {
  ENTER_IN_CONTEXT(cuMemAllocFromPoolAsync);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  CUmemPoolHandle_st* const pool = known(driver, given);
  return pool == nullptr || pool->destroyed ? kInvalidValue : allocate(pointer, bytes, *pool);
}

CUDA_CALL(cuMemAllocAsync, DevicePtr* pointer, size_t bytes, Stream) {
  ENTER_IN_CONTEXT(cuMemAllocAsync);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  return allocate(pointer, bytes, *default_pool(driver));
}

CUDA_CALL(cuMemFreeAsync, DevicePtr pointer, Stream) {
  ENTER_IN_CONTEXT(cuMemFreeAsync);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto found = driver.ranges.find(pointer);
  if (found == driver.ranges.end() || found->second.pool == nullptr) return kInvalidValue;
  CUmemPoolHandle_st* const pool = found->second.pool;
  if (!pool->imported) driver.give(pool->device, found->second.nbytes);
  driver.ranges.erase(found);
  pool->allocations.erase(pointer - base_of(*pool));
  if (pool->destroyed && pool->allocations.empty()) forget(driver, pool);
  return kSuccess;
}

CUDA_CALL(cuMemPoolExportToShareableHandle, void* shareable, MemPool given, MemHandleType type, unsigned long long) {
  ENTER(cuMemPoolExportToShareableHandle);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  CUmemPoolHandle_st* const pool = known(driver, given);
  if (pool == nullptr || pool->imported || (pool->handle_types & kMemHandlePosixFd) == 0 || type != kMemHandlePosixFd) return kInvalidValue;
  const int fd = export_file(*pool->memory->file, {kShareableMagic, 2, kRoom, pool->id, driver.devices[pool->device].number,
                                                   pool->memory->file->token, 0});
  if (fd < 0) return kUnknown;
  pool->exported = true;
  *static_cast<int*>(shareable) = fd;
  return kSuccess;
}

CUDA_CALL(cuMemPoolImportFromShareableHandle, MemPool* out, void* shareable, MemHandleType type, unsigned long long) {
  ENTER(cuMemPoolImportFromShareableHandle);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (type != kMemHandlePosixFd) return kInvalidValue;
  Shareable about{};
  auto file = import_file(static_cast<int>(reinterpret_cast<intptr_t>(shareable)), about);
  if (file == nullptr) return kUnknown;
  if (about.kind != 2) return kNotSupported;
  const int device = device_of_number(about.device);
  if (device < 0) return kInvalidDevice;
  for (CUmemPoolHandle_st* const pool : driver.pools) {
    if (!pool->imported || pool->id != about.id || pool->destroyed) continue;
    ++pool->imports;
    *out = pool;
    return kSuccess;
  }
  auto pool = std::make_unique<CUmemPoolHandle_st>();
  pool->memory = map_file(std::move(file), about.nbytes);
  if (pool->memory == nullptr) return kOutOfMemory;
  pool->id = about.id;
  pool->device = device;
  pool->imported = true;
  pool->imports = 1;
  driver.pools.push_back(pool.get());
  *out = pool.release();
  return kSuccess;
}

CUDA_CALL(cuMemPoolExportPointer, MemPoolPtrExportData* out, DevicePtr pointer) {
  ENTER_IN_CONTEXT(cuMemPoolExportPointer);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto found = driver.ranges.find(pointer);
  if (found == driver.ranges.end() || found->second.origin != Origin::pool || !found->second.pool->exported) return kInvalidValue;
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
  CUmemPoolHandle_st* const pool = known(driver, given);
  PointerData data;
  std::memcpy(&data, in, sizeof data);
  if (pool == nullptr || !pool->imported || data.one != 1 || data.pool != pool->id || data.process != pool->id >> 32) return kInvalidValue;
  if (data.nbytes == 0 || data.offset > kRoom || data.nbytes > kRoom - data.offset) return kInvalidValue;
  *pointer = base_of(*pool) + data.offset;
  pool->allocations[data.offset] = data.nbytes;
  Range range;
  range.nbytes = data.nbytes;
  range.origin = Origin::imported;
  range.device = pool->device;
  range.id = ++driver.last_id;
  range.pool = pool;
  driver.ranges[*pointer] = std::move(range);
  return kSuccess;
}
