// What the driver knows: devices, contexts, memory, streams. One lock over all of it; it is no model of speed.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cuda_cpu/file.h"
#include "cuda_cpu/stream.h"

// Opaque in the ABI.
namespace usm_ipc::cu {
struct CUctx_st {
  int device = 0;
  bool alive = false;
};
}  // namespace usm_ipc::cu

namespace usm_ipc::cuda_cpu {

using namespace cu;

constexpr uint64_t kBlock = 2 << 20;

struct PhysicalDevice {
  int number = 0;  // whatever CUDA_VISIBLE_DEVICES says
  Uuid uuid{};
  uint64_t memory = 0;
  uint64_t used = 0;  // by this process
  CUctx_st context;
};

// A cuMemAlloc block: one allocation, or several small ones.
struct Block {
  std::shared_ptr<MappedFile> memory;
  uint64_t filled = 0;
  uint64_t live = 0;
};

enum class Origin { legacy, pinned, managed, vmm, pool, imported };

// Something with an address, by which pointers are looked up.
struct Range {
  uint64_t nbytes = 0;
  Origin origin = Origin::legacy;
  int device = 0;
  uint64_t id = 0;  // CU_POINTER_ATTRIBUTE_BUFFER_ID
  std::shared_ptr<Block> block;             // legacy
  std::shared_ptr<MappedFile> memory;       // pinned, managed, imported
  uint64_t opens = 0;                       // imported: cuIpcOpenMemHandle's count
  std::string key;                          // imported: what the handle names
  CUmemPoolHandle_st* pool = nullptr;       // pool, and what was imported from one
  MemHandleType handle_types = kMemHandleNone;
  uint64_t physical = 0;                    // vmm: the handle that is mapped
  uint8_t counter = 0;                      // legacy: tells two allocations at one address apart
};

struct Physical {
  std::shared_ptr<File> file;
  MemAllocationProp prop{};
  uint64_t nbytes = 0;
  uint64_t references = 1;
};

struct Reservation {
  uint64_t nbytes = 0;
  uint64_t handle = 0;  // mapped there
};

struct Driver {
  std::recursive_mutex mutex;
  bool initialized = false;
  int process = 0;
  std::vector<PhysicalDevice> devices;
  std::map<DevicePtr, Range> ranges;
  std::map<uint64_t, Physical> physical;
  std::map<DevicePtr, Reservation> reservations;
  std::list<CUmemPoolHandle_st*> pools;
  std::weak_ptr<Block> current_block;
  std::map<std::string, int> failures;         // function: calls until it fails
  std::map<std::string, Result> failure_results;
  std::map<std::string, uint64_t> calls;
  uint64_t last_id = 0;
  uint8_t last_counter = 0;

  static Driver& instance();
  Range* range_at(DevicePtr pointer, DevicePtr* base = nullptr);
  bool take(int device, uint64_t nbytes);
  void give(int device, uint64_t nbytes);
};

using Lock = std::lock_guard<std::recursive_mutex>;

CUctx_st* current_context();
int current_device();
void push_context(CUctx_st* context);
CUctx_st* pop_context();

void set_failures(Driver& driver, const std::string& text);
void free_everything(int device);
// The device of this process with that number; -1: it does not see it.
int device_of_number(int number);

}  // namespace usm_ipc::cuda_cpu
