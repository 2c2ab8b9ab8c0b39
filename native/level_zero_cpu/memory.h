// USM: what is allocated and what is mapped from other processes. Each allocation is a memory file of its own, device
// USM too: that is how another process can map it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include "level_zero_cpu/devices.h"
#include "level_zero_cpu/ipc_handle.h"

namespace usm_ipc::ze {

constexpr size_t kPageSize = 65536;

// A sealed memory file. Throws Refusal.
UniqueFd make_memory_file(size_t size);
// 0 for anything else than a memory file, which is to this driver what a dma-buf is to a real one: all that it imports.
size_t memory_file_size(int fd);

// Of a device's memory, while it lives. Throws Refusal where there is not enough.
class Reserved {
 public:
  Reserved(DeviceMemory* memory, size_t size);  // null: nobody's device memory
  ~Reserved();
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

 private:
  DeviceMemory* const memory_;
  const size_t size_;
};

// Unmapped with its last user: a command that still waits keeps what it copies mapped.
class Mapping {
 public:
  // Throws Refusal. `memory`: whose bytes these are, null where they are nobody's device memory.
  Mapping(int fd, size_t size, size_t alignment, DeviceMemory* memory);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  uint8_t* base() const { return base_; }
  size_t size() const { return size_; }

 private:
  const Reserved reserved_;
  const size_t size_;
  uint8_t* base_ = nullptr;
};

struct AllocationInfo {
  uint8_t* base;
  size_t size;  // what the exporter asked for; in an importer, the file's size
  uint32_t type;
  DeviceHandle* device;  // null: host USM
  uint64_t id;
};

class MemoryTable {
 public:
  static MemoryTable& instance();

  // All of them throw Refusal.
  void* allocate(uint32_t type, DeviceHandle* device, size_t size, size_t alignment);
  void free(const void* base);
  std::optional<AllocationInfo> lookup(const void* pointer);  // of the allocation around it
  IpcMemHandle get_handle(const void* pointer);
  void put_handle(const IpcMemHandle& handle);
  void* open_handle(DeviceHandle& device, const IpcMemHandle& handle);
  void close_handle(const void* base);

  // Null for a pointer that is not USM.
  std::shared_ptr<Mapping> mapping(const void* pointer);

 private:
  struct Allocation {
    std::shared_ptr<Mapping> mapping;
    size_t size;
    uint32_t type;
    DeviceHandle* device;
    uint64_t id;
    UniqueFd file;      // none: imported
    UniqueFd exported;  // while handles are out
    uint32_t handles = 0;
  };
  using Allocations = std::map<uintptr_t, Allocation>;

  Allocations::iterator at(const void* pointer);
  void* enter(Allocation allocation);
  void remove(const void* base, bool imported);

  std::shared_mutex mutex_;
  Allocations allocations_;
  std::unordered_map<int, uintptr_t> exports_;  // exported descriptor -> base
  uint64_t next_id_ = 1;
};

}  // namespace usm_ipc::ze
