#include "cuda_cpu/pool.h"

#include <unistd.h>

#include <algorithm>

namespace usm_ipc::cuda_cpu {
namespace {

constexpr uint64_t kStep = 512;

void forget(CUmemPoolHandle_st* pool) {
  Driver::instance().pools.remove(pool);
  delete pool;
}

// The first gap that is large enough.
bool place(const CUmemPoolHandle_st& pool, uint64_t nbytes, uint64_t& offset) {
  offset = 0;
  for (const auto& [at, size] : pool.allocations) {
    if (at - offset >= nbytes) break;
    offset = (at + size + kStep - 1) / kStep * kStep;
  }
  return offset <= kPoolRoom && nbytes <= kPoolRoom - offset;
}

}  // namespace

CUmemPoolHandle_st* make_pool(int device, MemHandleType handle_types) {
  Driver& driver = Driver::instance();
  auto file = make_file(kPoolRoom);
  auto memory = file == nullptr ? nullptr : map_file(std::move(file), kPoolRoom);
  if (memory == nullptr) return nullptr;
  auto* const pool = new CUmemPoolHandle_st;
  // The exporter's process is in it, as an importer of pointers checks.
  pool->id = (uint64_t{static_cast<uint32_t>(::getpid())} << 32) + ++driver.last_id;
  pool->device = device;
  pool->handle_types = handle_types;
  pool->memory = std::move(memory);
  driver.pools.push_back(pool);
  return pool;
}

// One for all imports of it.
CUmemPoolHandle_st* import_pool(const Shareable& about, int device, std::shared_ptr<MappedFile> memory) {
  auto* const pool = new CUmemPoolHandle_st;
  pool->id = about.id;
  pool->device = device;
  pool->imported = true;
  pool->imports = 1;
  pool->memory = std::move(memory);
  Driver::instance().pools.push_back(pool);
  return pool;
}

CUmemPoolHandle_st* default_pool(int device) {
  CUmemPoolHandle_st*& pool = Driver::instance().devices[device].default_pool;
  if (pool == nullptr) pool = make_pool(device, kMemHandleNone);
  return pool;
}

CUmemPoolHandle_st* known_pool(MemPool pool) {
  const std::list<CUmemPoolHandle_st*>& pools = Driver::instance().pools;
  const auto found = std::find(pools.begin(), pools.end(), pool);
  return found == pools.end() || (*found)->destroyed ? nullptr : *found;
}

Result destroy_pool(CUmemPoolHandle_st* pool) {
  if (pool == Driver::instance().devices[pool->device].default_pool) return kInvalidValue;
  if (pool->imported && --pool->imports > 0) return kSuccess;
  pool->destroyed = true;
  if (pool->allocations.empty()) forget(pool);
  return kSuccess;
}

Result allocate_in_pool(DevicePtr* pointer, uint64_t nbytes, CUmemPoolHandle_st& pool) {
  Driver& driver = Driver::instance();
  if (pointer == nullptr || nbytes == 0 || pool.imported) return kInvalidValue;
  if (!driver.take(pool.device, nbytes)) return kOutOfMemory;
  uint64_t offset = 0;
  if (!place(pool, nbytes, offset)) {
    driver.give(pool.device, nbytes);
    return kOutOfMemory;
  }
  pool.allocations[offset] = nbytes;
  *pointer = base_of(pool) + offset;
  Range range = driver.new_range(nbytes, Origin::pool, pool.device);
  range.pool = &pool;
  range.memory = pool.memory;
  range.handle_types = pool.handle_types;
  driver.ranges[*pointer] = std::move(range);
  return kSuccess;
}

void free_in_pool(std::map<DevicePtr, Range>::iterator at) {
  Driver& driver = Driver::instance();
  CUmemPoolHandle_st* const pool = at->second.pool;
  if (!pool->imported) driver.give(pool->device, at->second.nbytes);
  pool->allocations.erase(at->first - base_of(*pool));
  driver.ranges.erase(at);
  if (pool->destroyed && pool->allocations.empty()) forget(pool);
}

void empty_pools(int device) {
  const std::list<CUmemPoolHandle_st*> pools = Driver::instance().pools;
  for (CUmemPoolHandle_st* const pool : pools) {
    if (pool->device != device) continue;
    pool->allocations.clear();
    if (pool->destroyed) forget(pool);
  }
}

}  // namespace usm_ipc::cuda_cpu
