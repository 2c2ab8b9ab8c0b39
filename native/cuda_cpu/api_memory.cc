// cuMemAlloc, pinned and managed memory.
#include <algorithm>
#include <cstring>

#include "cuda_cpu/context.h"
#include "cuda_cpu/entry.h"
#include "cuda_cpu/pool.h"

using namespace usm_ipc::cuda_cpu;

namespace {

DevicePtr address_of(const MappedFile& mapped) { return reinterpret_cast<DevicePtr>(mapped.base); }

// Small ones are cut from a block that has room, in steps of 512 bytes.
std::shared_ptr<Block> block_for(PhysicalDevice& device, uint64_t nbytes, uint64_t& offset) {
  const bool is_small = nbytes <= kBlock / 2;
  std::shared_ptr<Block> block = is_small ? device.current_block.lock() : nullptr;
  if (block == nullptr || block->filled + nbytes > kBlock) {
    const uint64_t whole = (nbytes + kBlock - 1) / kBlock * kBlock;
    auto file = make_file(whole);
    auto memory = file == nullptr ? nullptr : map_file(std::move(file), whole);
    if (memory == nullptr) return nullptr;
    block = std::make_shared<Block>();
    block->memory = std::move(memory);
    if (is_small) device.current_block = block;
  }
  offset = block->filled;
  block->filled += is_small ? (nbytes + 511) / 512 * 512 : kBlock;
  return block;
}

Result allocate_own(void** pointer, size_t bytes, Origin origin) {
  if (pointer == nullptr || bytes == 0) return kInvalidValue;
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  auto memory = map_file(nullptr, bytes);
  if (memory == nullptr) return kOutOfMemory;
  Range range = driver.new_range(bytes, origin, current_device());
  *pointer = memory->base;
  const DevicePtr at = address_of(*memory);
  range.memory = std::move(memory);
  driver.ranges.emplace(at, std::move(range));
  return kSuccess;
}

// Memory of a pool is freed by either name.
Result free_range(DevicePtr pointer, std::initializer_list<Origin> origins) {
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto found = driver.ranges.find(pointer);
  if (found == driver.ranges.end()) return kInvalidValue;
  const Range& range = found->second;
  if (std::find(origins.begin(), origins.end(), range.origin) == origins.end()) return kInvalidValue;
  if (range.origin == Origin::pool) return range.is_freed ? kInvalidValue : (free_in_pool(found), kSuccess);
  if (range.origin == Origin::legacy) driver.give(range.device, range.nbytes);
  driver.ranges.erase(found);
  return kSuccess;
}

}  // namespace

CUDA_CALL(cuMemGetInfo_v2, size_t* free, size_t* total) {
  ENTER_IN_CONTEXT(cuMemGetInfo_v2);
  if (free == nullptr || total == nullptr) return kInvalidValue;
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const PhysicalDevice& device = driver.devices[current_device()];
  *free = device.memory - device.used;
  *total = device.memory;
  return kSuccess;
}

CUDA_CALL(cuMemAlloc_v2, DevicePtr* pointer, size_t bytes) {
  ENTER_IN_CONTEXT(cuMemAlloc_v2);
  if (pointer == nullptr || bytes == 0) return kInvalidValue;
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (!driver.take(current_device(), bytes)) return kOutOfMemory;
  uint64_t offset = 0;
  std::shared_ptr<Block> block = block_for(driver.devices[current_device()], bytes, offset);
  if (block == nullptr) {
    driver.give(current_device(), bytes);
    return kOutOfMemory;
  }
  Range range = driver.new_range(bytes, Origin::legacy, current_device());
  range.counter = ++driver.last_counter;
  *pointer = address_of(*block->memory) + offset;
  range.memory = block->memory;
  range.block = std::move(block);
  driver.ranges[*pointer] = std::move(range);
  return kSuccess;
}

CUDA_CALL(cuMemFree_v2, DevicePtr pointer) {
  ENTER_IN_CONTEXT(cuMemFree_v2);
  return free_range(pointer, {Origin::legacy, Origin::managed, Origin::pool});
}

CUDA_CALL(cuMemHostAlloc, void** pointer, size_t bytes, unsigned) {
  ENTER_IN_CONTEXT(cuMemHostAlloc);
  return allocate_own(pointer, bytes, Origin::pinned);
}

CUDA_CALL(cuMemAllocHost_v2, void** pointer, size_t bytes) {
  ENTER_IN_CONTEXT(cuMemAllocHost_v2);
  return allocate_own(pointer, bytes, Origin::pinned);
}

CUDA_CALL(cuMemFreeHost, void* pointer) {
  ENTER_IN_CONTEXT(cuMemFreeHost);
  return free_range(reinterpret_cast<DevicePtr>(pointer), {Origin::pinned});
}

CUDA_CALL(cuMemAllocManaged, DevicePtr* pointer, size_t bytes, unsigned) {
  ENTER_IN_CONTEXT(cuMemAllocManaged);
  return allocate_own(reinterpret_cast<void**>(pointer), bytes, Origin::managed);
}
