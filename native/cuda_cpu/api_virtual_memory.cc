// Virtual memory management, as the H200's driver answered: a handle is mapped whole or not at all.
#include <algorithm>
#include <cstring>

#include "cuda_cpu/driver.h"
#include "cuda_cpu/entry.h"

using namespace usm_ipc::cuda_cpu;

namespace {

using Ranges = std::map<DevicePtr, Range>;

uint8_t* at_address(DevicePtr pointer) { return reinterpret_cast<uint8_t*>(pointer); }

void drop(Driver& driver, uint64_t handle) {
  const auto found = driver.physical.find(handle);
  if (--found->second.references > 0) return;
  const Physical& physical = found->second;
  if (!physical.imported) driver.give(physical.prop.location.id, physical.nbytes);
  driver.physical.erase(found);
}

bool is_reserved(const Driver& driver, DevicePtr pointer, uint64_t nbytes) {
  const auto after = driver.reservations.upper_bound(pointer);
  if (after == driver.reservations.begin()) return false;
  const auto& [at, size] = *std::prev(after);
  return pointer - at <= size && nbytes <= size - (pointer - at);
}

// The mappings that begin in it.
std::vector<Ranges::iterator> mapped_in(Driver& driver, DevicePtr pointer, uint64_t nbytes) {
  std::vector<Ranges::iterator> found;
  for (auto at = driver.ranges.lower_bound(pointer); at != driver.ranges.end() && at->first - pointer < nbytes; ++at) {
    if (at->second.origin == Origin::vmm) found.push_back(at);
  }
  return found;
}

// They fill it, one behind the other; none lies across its ends.
bool fills(const std::vector<Ranges::iterator>& mappings, DevicePtr pointer, uint64_t nbytes) {
  const DevicePtr end = pointer + nbytes;
  for (const auto& mapping : mappings) {
    if (mapping->first != pointer) return false;
    pointer += mapping->second.nbytes;
  }
  return !mappings.empty() && pointer == end;
}

}  // namespace

CUDA_CALL(cuMemGetAllocationGranularity, size_t* bytes, const MemAllocationProp* prop, GranularityFlags) {
  ENTER(cuMemGetAllocationGranularity);
  if (bytes == nullptr || prop == nullptr) return kInvalidValue;
  *bytes = kBlock;
  return kSuccess;
}

CUDA_CALL(cuMemCreate, MemHandle* handle, size_t bytes, const MemAllocationProp* prop, unsigned long long flags) {
  ENTER(cuMemCreate);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (handle == nullptr || prop == nullptr || bytes == 0 || bytes % kBlock != 0 || flags != 0) return kInvalidValue;
  if (prop->type != kMemAllocationPinned) return kInvalidValue;
  if (prop->location.type != kMemLocationDevice || !driver.is_device(prop->location.id)) return kInvalidDevice;
  if (!driver.take(prop->location.id, bytes)) return kOutOfMemory;
  auto file = make_file(bytes);
  if (file == nullptr) {
    driver.give(prop->location.id, bytes);
    return kOutOfMemory;
  }
  *handle = ++driver.last_id;
  driver.physical[*handle] = {std::move(file), *prop, bytes, false, 1};
  return kSuccess;
}

CUDA_CALL(cuMemRelease, MemHandle handle) {
  ENTER(cuMemRelease);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (driver.physical.count(handle) == 0) return kInvalidValue;
  drop(driver, handle);
  return kSuccess;
}

CUDA_CALL(cuMemAddressReserve, DevicePtr* pointer, size_t bytes, size_t, DevicePtr, unsigned long long) {
  ENTER(cuMemAddressReserve);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (pointer == nullptr || bytes == 0 || bytes % kBlock != 0) return kInvalidValue;
  uint8_t* const at = reserve(bytes);
  if (at == nullptr) return kOutOfMemory;
  *pointer = reinterpret_cast<DevicePtr>(at);
  driver.reservations[*pointer] = bytes;
  return kSuccess;
}

CUDA_CALL(cuMemAddressFree, DevicePtr pointer, size_t bytes) {
  ENTER(cuMemAddressFree);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto found = driver.reservations.find(pointer);
  if (found == driver.reservations.end() || found->second != bytes) return kInvalidValue;
  if (!mapped_in(driver, pointer, bytes).empty()) return kInvalidValue;
  release(at_address(pointer), bytes);
  driver.reservations.erase(found);
  return kSuccess;
}

CUDA_CALL(cuMemMap, DevicePtr pointer, size_t bytes, size_t offset, MemHandle handle, unsigned long long flags) {
  ENTER(cuMemMap);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto found = driver.physical.find(handle);
  if (found == driver.physical.end() || offset != 0 || flags != 0 || pointer % kBlock != 0) return kInvalidValue;
  if (bytes != found->second.nbytes) return kNotSupported;
  if (!is_reserved(driver, pointer, bytes)) return kInvalidValue;
  if (driver.range_at(pointer) != nullptr || !mapped_in(driver, pointer, bytes).empty()) return kInvalidValue;
  ++found->second.references;
  Range range = driver.new_range(bytes, Origin::vmm, found->second.prop.location.id);
  range.physical = handle;
  range.handle_types = found->second.prop.requested_handle_types;
  range.accessible = false;
  driver.ranges[pointer] = std::move(range);
  return kSuccess;
}

CUDA_CALL(cuMemUnmap, DevicePtr pointer, size_t bytes) {
  ENTER(cuMemUnmap);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto mappings = mapped_in(driver, pointer, bytes);
  if (!fills(mappings, pointer, bytes)) return kInvalidValue;
  take_away(at_address(pointer), bytes);
  for (const auto& mapping : mappings) {
    drop(driver, mapping->second.physical);
    driver.ranges.erase(mapping);
  }
  return kSuccess;
}

// Until then a touch is a fault.
CUDA_CALL(cuMemSetAccess, DevicePtr pointer, size_t bytes, const MemAccessDesc* descriptions, size_t count) {
  ENTER(cuMemSetAccess);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto mappings = mapped_in(driver, pointer, bytes);
  if (descriptions == nullptr || count == 0 || !fills(mappings, pointer, bytes)) return kInvalidValue;
  for (size_t i = 0; i < count; i++) {
    if (descriptions[i].location.type != kMemLocationDevice || !driver.is_device(descriptions[i].location.id)) return kInvalidDevice;
    if (descriptions[i].flags != kMemAccessReadWrite) return kNotSupported;
  }
  for (const auto& mapping : mappings) {
    if (!put(at_address(mapping->first), mapping->second.nbytes, *driver.physical[mapping->second.physical].file)) return kOutOfMemory;
    mapping->second.accessible = true;
  }
  return kSuccess;
}

CUDA_CALL(cuMemGetAllocationPropertiesFromHandle, MemAllocationProp* prop, MemHandle handle) {
  ENTER(cuMemGetAllocationPropertiesFromHandle);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto found = driver.physical.find(handle);
  if (prop == nullptr || found == driver.physical.end()) return kInvalidValue;
  *prop = found->second.prop;
  return kSuccess;
}

CUDA_CALL(cuMemRetainAllocationHandle, MemHandle* handle, void* address) {
  ENTER(cuMemRetainAllocationHandle);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const Range* const range = driver.range_at(reinterpret_cast<DevicePtr>(address));
  if (handle == nullptr || range == nullptr || range->origin != Origin::vmm) return kInvalidValue;
  *handle = range->physical;
  ++driver.physical[*handle].references;
  return kSuccess;
}
