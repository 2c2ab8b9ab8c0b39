// cuMemAlloc, pinned and managed memory, and what the driver says of a pointer.
#include <algorithm>
#include <cstring>

#include "cuda_cpu/driver.h"
#include "cuda_cpu/entry.h"

using namespace usm_ipc::cuda_cpu;

namespace {

DevicePtr address_of(const MappedFile& mapped) { return reinterpret_cast<DevicePtr>(mapped.base); }

// Small ones are cut from a block that has room, in steps of 512 bytes.
std::shared_ptr<Block> block_for(Driver& driver, uint64_t nbytes, uint64_t& offset) {
  const bool is_small = nbytes <= kBlock / 2;
  std::shared_ptr<Block> block = is_small ? driver.current_block.lock() : nullptr;
  if (block == nullptr || block->filled + nbytes > kBlock) {
    const uint64_t whole = (nbytes + kBlock - 1) / kBlock * kBlock;
    auto file = make_file(whole);
    auto memory = file == nullptr ? nullptr : map_file(std::move(file), whole);
    if (memory == nullptr) return nullptr;
    block = std::make_shared<Block>();
    block->memory = std::move(memory);
    if (is_small) driver.current_block = block;
  }
  offset = block->filled;
  block->filled += is_small ? (nbytes + 511) / 512 * 512 : kBlock;
  return block;
}

Range described(Driver& driver, uint64_t nbytes, Origin origin, int device) {
  Range range;
  range.nbytes = nbytes;
  range.origin = origin;
  range.device = device;
  range.id = ++driver.last_id;
  return range;
}

Result allocate_own(void** pointer, size_t bytes, Origin origin) {
  if (bytes == 0) return kInvalidValue;
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  auto memory = map_file(nullptr, bytes);
  if (memory == nullptr) return kOutOfMemory;
  Range range = described(driver, bytes, origin, current_device());
  *pointer = memory->base;
  const DevicePtr at = address_of(*memory);
  range.memory = std::move(memory);
  driver.ranges.emplace(at, std::move(range));
  return kSuccess;
}

Result free_own(DevicePtr pointer, Origin origin, Origin other) {
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto found = driver.ranges.find(pointer);
  if (found == driver.ranges.end() || (found->second.origin != origin && found->second.origin != other)) return kInvalidValue;
  if (origin == Origin::legacy && found->second.origin == Origin::legacy) driver.give(found->second.device, found->second.nbytes);
  driver.ranges.erase(found);
  return kSuccess;
}

}  // namespace

CUDA_CALL(cuMemGetInfo_v2, size_t* free, size_t* total) {
  ENTER_IN_CONTEXT(cuMemGetInfo_v2);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const PhysicalDevice& device = driver.devices[current_device()];
  *free = device.memory - device.used;
  *total = device.memory;
  return kSuccess;
}

CUDA_CALL(cuMemAlloc_v2, DevicePtr* pointer, size_t bytes) {
  ENTER_IN_CONTEXT(cuMemAlloc_v2);
  if (bytes == 0) return kInvalidValue;
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (!driver.take(current_device(), bytes)) return kOutOfMemory;
  uint64_t offset = 0;
  std::shared_ptr<Block> block = block_for(driver, bytes, offset);
  if (block == nullptr) {
    driver.give(current_device(), bytes);
    return kOutOfMemory;
  }
  Range range = described(driver, bytes, Origin::legacy, current_device());
  range.counter = ++driver.last_counter;
  *pointer = address_of(*block->memory) + offset;
  range.block = std::move(block);
  driver.ranges[*pointer] = std::move(range);
  return kSuccess;
}

CUDA_CALL(cuMemFree_v2, DevicePtr pointer) {
  ENTER_IN_CONTEXT(cuMemFree_v2);
  return free_own(pointer, Origin::legacy, Origin::managed);
}

CUDA_CALL(cuMemHostAlloc, void** pointer, size_t bytes, unsigned) {
  ENTER_IN_CONTEXT(cuMemHostAlloc);
  return allocate_own(pointer, bytes, Origin::pinned);
}

CUDA_CALL(cuMemFreeHost, void* pointer) {
  ENTER_IN_CONTEXT(cuMemFreeHost);
  return free_own(reinterpret_cast<DevicePtr>(pointer), Origin::pinned, Origin::pinned);
}

CUDA_CALL(cuMemAllocManaged, DevicePtr* pointer, size_t bytes, unsigned) {
  ENTER_IN_CONTEXT(cuMemAllocManaged);
  void* at = nullptr;
  const Result result = allocate_own(&at, bytes, Origin::managed);
  *pointer = reinterpret_cast<DevicePtr>(at);
  return result;
}

CUDA_CALL(cuMemGetAddressRange_v2, DevicePtr* base, size_t* bytes, DevicePtr pointer) {
  ENTER_IN_CONTEXT(cuMemGetAddressRange_v2);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  DevicePtr at = 0;
  const Range* const range = driver.range_at(pointer, &at);
  if (range == nullptr) return kNotFound;
  if (base != nullptr) *base = at;
  if (bytes != nullptr) *bytes = range->nbytes;
  return kSuccess;
}

CUDA_CALL(cuPointerGetAttribute, void* value, PointerAttribute attribute, DevicePtr pointer) {
  ENTER_IN_CONTEXT(cuPointerGetAttribute);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  DevicePtr base = 0;
  const Range* const range = driver.range_at(pointer, &base);
  if (range == nullptr) return kInvalidValue;
  const auto put = [&](auto what) { std::memcpy(value, &what, sizeof what); };
  const bool is_host = range->origin == Origin::pinned;
  switch (attribute) {
    case kPointerContext: put(static_cast<void*>(&driver.devices[range->device].context)); break;
    case kPointerMemoryType: put(is_host ? kMemoryTypeHost : kMemoryTypeDevice); break;
    case kPointerDevicePointer: put(pointer); break;
    case kPointerBufferId: put(static_cast<unsigned long long>(range->id)); break;
    case kPointerIsManaged: put(static_cast<unsigned>(range->origin == Origin::managed)); break;
    case kPointerDeviceOrdinal: put(range->device); break;
    case kPointerIsLegacyIpcCapable: put(static_cast<unsigned>(range->origin == Origin::legacy)); break;
    case kPointerRangeStart: put(base); break;
    case kPointerRangeSize: put(static_cast<size_t>(range->nbytes)); break;
    case kPointerMapped: put(1u); break;
    case kPointerAllowedHandleTypes: put(static_cast<uint64_t>(range->handle_types)); break;
    case kPointerMemPool: put(static_cast<void*>(range->pool)); break;
    default: return kInvalidValue;
  }
  return kSuccess;
}
