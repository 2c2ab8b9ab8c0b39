// What the driver knows: devices, contexts, memory. One lock over all of it; it is no model of speed.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/functions.h"
#include "cuda_cpu/file.h"

// Opaque in the ABI.
namespace usm_ipc::cu {
struct CUctx_st {
  int device = 0;
  bool alive = false;
  uint64_t id = 0;  // another each time that it is made
  uint64_t retained = 0;
  uint64_t peers = 0;  // a bit for each device whose memory it was given
};
}  // namespace usm_ipc::cu

namespace usm_ipc::cuda_cpu {

using namespace cu;

constexpr uint64_t kBlock = 2 << 20;

// A cuMemAlloc block: one allocation, or several small ones.
struct Block {
  std::shared_ptr<MappedFile> memory;
  uint64_t filled = 0;
};

struct PhysicalDevice {
  int number = 0;  // whatever CUDA_VISIBLE_DEVICES says
  Uuid uuid{};
  uint64_t memory = 0;
  uint64_t used = 0;  // by this process
  CUctx_st context;
  std::weak_ptr<Block> current_block;  // that small allocations are cut from
  CUmemPoolHandle_st* default_pool = nullptr;
};

enum class Origin { legacy, pinned, managed, vmm, pool, imported };

// Something with an address, by which pointers are looked up.
struct Range {
  uint64_t nbytes = 0;
  Origin origin = Origin::legacy;
  int device = 0;
  uint64_t id = 0;                     // CU_POINTER_ATTRIBUTE_BUFFER_ID
  std::shared_ptr<MappedFile> memory;  // what it lies in; vmm: none
  std::shared_ptr<Block> block;        // legacy
  uint64_t opens = 0;                  // imported: cuIpcOpenMemHandle's count
  std::string key;                     // imported: what the handle names
  CUmemPoolHandle_st* pool = nullptr;  // pool, and what was imported from one
  MemHandleType handle_types = kMemHandleNone;
  uint64_t physical = 0;    // vmm: the handle that is mapped
  bool accessible = true;   // vmm: not until cuMemSetAccess
  bool is_freed = false;    // pool: a stream has yet to come to it
  uint8_t counter = 0;      // legacy: tells two allocations at one address apart
};

struct Physical {
  std::shared_ptr<File> file;
  MemAllocationProp prop{};
  uint64_t nbytes = 0;
  bool imported = false;
  uint64_t references = 1;
};

struct Driver {
  std::recursive_mutex mutex;
  std::atomic<int> process{0};  // that initialized it
  std::vector<PhysicalDevice> devices;
  std::map<DevicePtr, Range> ranges;
  std::map<uint64_t, Physical> physical;
  std::map<DevicePtr, uint64_t> reservations;  // address: bytes
  std::list<CUmemPoolHandle_st*> pools;
  uint64_t last_id = 0;
  uint8_t last_counter = 0;

  static Driver& instance();
  Range* range_at(DevicePtr pointer, DevicePtr* base = nullptr);
  Range new_range(uint64_t nbytes, Origin origin, int device);
  bool is_device(int device) const;
  // The device of this process with that number; -1: it does not see it.
  int device_of_number(int number) const;
  bool take(int device, uint64_t nbytes);
  void give(int device, uint64_t nbytes);
  // Its context is destroyed: memory, streams and events are gone; handles and reservations are the process's.
  void reset(int device);
};

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace usm_ipc::cuda_cpu
