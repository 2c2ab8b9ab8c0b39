// Stream-ordered pools: one memory file each, of which only what is touched takes memory.
#pragma once

#include <map>
#include <memory>

#include "cuda_cpu/driver.h"

namespace usm_ipc::cu {

struct CUmemPoolHandle_st {
  uint64_t id = 0;
  int device = 0;
  bool imported = false;
  bool exported = false;
  bool destroyed = false;  // its allocations still live
  uint64_t imports = 0;    // how often it was, in this process
  MemHandleType handle_types = kMemHandleNone;
  std::shared_ptr<cuda_cpu::MappedFile> memory;
  std::map<uint64_t, uint64_t> allocations;  // offset: bytes
};

}  // namespace usm_ipc::cu

namespace usm_ipc::cuda_cpu {

// Each under the lock.
CUmemPoolHandle_st* make_pool(int device, MemHandleType handle_types);
CUmemPoolHandle_st* import_pool(const Shareable& about, int device, std::shared_ptr<MappedFile> memory);
CUmemPoolHandle_st* default_pool(int device);
// Null: there is no such pool, or it was destroyed.
CUmemPoolHandle_st* known_pool(MemPool pool);
Result destroy_pool(CUmemPoolHandle_st* pool);
Result allocate_in_pool(DevicePtr* pointer, uint64_t nbytes, CUmemPoolHandle_st& pool);
void free_in_pool(std::map<DevicePtr, Range>::iterator at);
// All that lives in the device's pools is gone already.
void empty_pools(int device);

inline DevicePtr base_of(const CUmemPoolHandle_st& pool) { return reinterpret_cast<DevicePtr>(pool.memory->base); }
constexpr uint64_t kPoolRoom = 1ull << 30;  // sparse

}  // namespace usm_ipc::cuda_cpu
