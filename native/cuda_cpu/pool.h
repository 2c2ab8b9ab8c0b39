// Stream-ordered pools: one memory file each, of which only what is touched takes memory.
#pragma once

#include <map>
#include <memory>

#include "cuda_cpu/driver.h"

namespace usm_ipc::cu {

struct CUmemPoolHandle_st {
  uint64_t id = 0;
  int process = 0;
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
