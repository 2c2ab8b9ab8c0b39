// Address space without memory, and memory without addresses: programs join the two as they like.
#pragma once

#include <map>
#include <mutex>

#include "level_zero_cpu/memory.h"

namespace usm_ipc::ze {

struct PhysicalMemHandle {
  Kind kind = Kind::physical_memory;
  Reserved reserved;
  size_t size;
  uint64_t id;
  UniqueFd file;
};

inline PhysicalMemHandle& object(PhysicalMem handle) { return check_kind(handle, Kind::physical_memory), *handle; }

// All of them throw Refusal. Sizes and addresses are whole pages (kPageSize).
class AddressSpace {
 public:
  static AddressSpace& instance();

  void* reserve(const void* near, size_t size);
  void free(const void* start, size_t size);  // a reservation, with what is mapped in it
  void map(const void* start, size_t size, const PhysicalMemHandle& memory, size_t offset, uint32_t access);
  // Of whole mappings.
  void unmap(const void* start, size_t size);
  void set_access(const void* start, size_t size, uint32_t access);
  // Of the mapping, or else the reservation, around it; gives its size.
  size_t access(const void* start, uint32_t& access);

 private:
  struct Range {
    size_t size;
    uint32_t access;
  };
  using Ranges = std::map<uintptr_t, Range>;

  static Ranges::iterator around(Ranges& ranges, uintptr_t address);
  // The mappings that make up the range. Throws where one is only partly in it, or there is none.
  std::pair<Ranges::iterator, Ranges::iterator> mappings(const void* start, size_t size);

  std::mutex mutex_;
  Ranges reservations_;
  Ranges mapped_;
};

}  // namespace usm_ipc::ze
