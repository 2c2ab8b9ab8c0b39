// Virtual memory management, as the H200's driver answered: a handle is mapped whole or not at all.
#include <unistd.h>

#include "cuda_cpu/driver.h"
#include "cuda_cpu/entry.h"

using namespace usm_ipc::cuda_cpu;

namespace {

uint8_t* at_address(DevicePtr pointer) { return reinterpret_cast<uint8_t*>(pointer); }

void drop(Driver& driver, uint64_t handle) {
  const auto found = driver.physical.find(handle);
  if (found == driver.physical.end() || --found->second.references > 0) return;
  const Physical& physical = found->second;
  if (physical.prop.requested_handle_types != kMemHandleNone) driver.give(physical.prop.location.id, physical.nbytes);
  driver.physical.erase(found);
}

}  // namespace

CUDA_CALL(cuMemGetAllocationGranularity, size_t* bytes, const MemAllocationProp*, GranularityFlags) {
  ENTER(cuMemGetAllocationGranularity);
  *bytes = kBlock;
  return kSuccess;
}

CUDA_CALL(cuMemCreate, MemHandle* handle, size_t bytes, const MemAllocationProp* prop, unsigned long long flags) {
  ENTER(cuMemCreate);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const int device = prop->location.id;
  if (bytes == 0 || bytes % kBlock != 0 || flags != 0 || prop->type != kMemAllocationPinned) return kInvalidValue;
  if (prop->location.type != kMemLocationDevice || device < 0 || device >= static_cast<int>(driver.devices.size())) return kInvalidDevice;
  if (!driver.take(device, bytes)) return kOutOfMemory;
  auto file = make_file(bytes);
  if (file == nullptr) {
    driver.give(device, bytes);
    return kOutOfMemory;
  }
  *handle = ++driver.last_id;
  driver.physical[*handle] = {std::move(file), *prop, bytes, 1};
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
  if (bytes == 0 || bytes % kBlock != 0) return kInvalidValue;
  uint8_t* const at = reserve(bytes);
  if (at == nullptr) return kOutOfMemory;
  *pointer = reinterpret_cast<DevicePtr>(at);
  driver.reservations[*pointer] = {bytes, 0};
  return kSuccess;
}

CUDA_CALL(cuMemAddressFree, DevicePtr pointer, size_t bytes) {
  ENTER(cuMemAddressFree);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto found = driver.reservations.find(pointer);
  if (found == driver.reservations.end() || found->second.nbytes != bytes || found->second.handle != 0) return kInvalidValue;
  release(at_address(pointer), bytes);
  driver.reservations.erase(found);
  return kSuccess;
}

CUDA_CALL(cuMemMap, DevicePtr pointer, size_t bytes, size_t offset, MemHandle handle, unsigned long long) {
  ENTER(cuMemMap);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto place = driver.reservations.find(pointer);
  const auto found = driver.physical.find(handle);
  if (place == driver.reservations.end() || found == driver.physical.end() || offset != 0) return kInvalidValue;
  if (bytes != found->second.nbytes) return kNotSupported;
  if (place->second.nbytes != bytes || place->second.handle != 0) return kInvalidValue;
  place->second.handle = handle;
  ++found->second.references;
  Range range;
  range.nbytes = bytes;
  range.origin = Origin::vmm;
  range.device = found->second.prop.location.id;
  range.id = ++driver.last_id;
  range.physical = handle;
  range.handle_types = found->second.prop.requested_handle_types;
  driver.ranges[pointer] = std::move(range);
  return kSuccess;
}

CUDA_CALL(cuMemUnmap, DevicePtr pointer, size_t bytes) {
  ENTER(cuMemUnmap);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto place = driver.reservations.find(pointer);
  if (place == driver.reservations.end() || place->second.nbytes != bytes || place->second.handle == 0) return kInvalidValue;
  take_away(at_address(pointer), bytes);
  drop(driver, place->second.handle);
  place->second.handle = 0;
  driver.ranges.erase(pointer);
  return kSuccess;
}

// Until then a touch is a fault.
CUDA_CALL(cuMemSetAccess, DevicePtr pointer, size_t bytes, const MemAccessDesc*, size_t count) {
  ENTER(cuMemSetAccess);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto place = driver.reservations.find(pointer);
  if (place == driver.reservations.end() || place->second.handle == 0 || place->second.nbytes != bytes || count == 0) return kInvalidValue;
  return put(at_address(pointer), bytes, *driver.physical[place->second.handle].file) ? kSuccess : kOutOfMemory;
}

CUDA_CALL(cuMemExportToShareableHandle, void* shareable, MemHandle handle, MemHandleType type, unsigned long long) {
  ENTER(cuMemExportToShareableHandle);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto found = driver.physical.find(handle);
  if (found == driver.physical.end() || type != kMemHandlePosixFd) return kInvalidValue;
  const Physical& physical = found->second;
  if ((physical.prop.requested_handle_types & kMemHandlePosixFd) == 0) return kNotSupported;
  const int fd = export_file(*physical.file, {kShareableMagic, 1, physical.nbytes, handle, driver.devices[physical.prop.location.id].number,
                                              physical.file->token, 0});
  if (fd < 0) return kUnknown;
  *static_cast<int*>(shareable) = fd;
  return kSuccess;
}

CUDA_CALL(cuMemImportFromShareableHandle, MemHandle* handle, void* shareable, MemHandleType type) {
  ENTER(cuMemImportFromShareableHandle);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (type != kMemHandlePosixFd) return kInvalidValue;
  Shareable about{};
  auto file = import_file(static_cast<int>(reinterpret_cast<intptr_t>(shareable)), about);
  if (file == nullptr) return kUnknown;
  if (about.kind != 1) return kNotSupported;
  const int device = device_of_number(about.device);
  if (device < 0) return kInvalidDevice;
  Physical physical;
  physical.nbytes = about.nbytes;
  physical.prop.type = kMemAllocationPinned;
  physical.prop.location = {kMemLocationDevice, device};
  physical.file = std::move(file);
  *handle = ++driver.last_id;
  driver.physical[*handle] = std::move(physical);
  return kSuccess;
}

CUDA_CALL(cuMemGetAllocationPropertiesFromHandle, MemAllocationProp* prop, MemHandle handle) {
  ENTER(cuMemGetAllocationPropertiesFromHandle);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto found = driver.physical.find(handle);
  if (found == driver.physical.end()) return kInvalidValue;
  *prop = found->second.prop;
  return kSuccess;
}

CUDA_CALL(cuMemRetainAllocationHandle, MemHandle* handle, void* address) {
  ENTER(cuMemRetainAllocationHandle);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const Range* const range = driver.range_at(reinterpret_cast<DevicePtr>(address));
  if (range == nullptr || range->origin != Origin::vmm) return kInvalidValue;
  *handle = range->physical;
  ++driver.physical[*handle].references;
  return kSuccess;
}
