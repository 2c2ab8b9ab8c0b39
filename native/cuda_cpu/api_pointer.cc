// What the driver says of a pointer.
#include <cstring>

#include "cuda_cpu/context.h"
#include "cuda_cpu/entry.h"

using namespace usm_ipc::cuda_cpu;

namespace {

// Under the lock.
Result attribute_of(Driver& driver, DevicePtr pointer, PointerAttribute attribute, void* value) {
  if (value == nullptr) return kInvalidValue;
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

// What is not known is zero, at the attribute's own width, and the ordinal -2.
void clear(PointerAttribute attribute, void* value) {
  switch (attribute) {
    case kPointerMemoryType:
    case kPointerIsLegacyIpcCapable:
    case kPointerMapped:
    case kPointerIsManaged: std::memset(value, 0, sizeof(unsigned)); break;
    case kPointerDeviceOrdinal: {
      const int none = -2;
      std::memcpy(value, &none, sizeof none);
      break;
    }
    default: std::memset(value, 0, sizeof(uint64_t));
  }
}

}  // namespace

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
  return attribute_of(driver, pointer, attribute, value);
}

CUDA_CALL(cuPointerGetAttributes, unsigned count, PointerAttribute* attributes, void** values, DevicePtr pointer) {
  ENTER_IN_CONTEXT(cuPointerGetAttributes);
  if (count == 0 || attributes == nullptr || values == nullptr) return kInvalidValue;
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  for (unsigned i = 0; i < count; i++) {
    if (values[i] == nullptr) return kInvalidValue;
    if (attribute_of(driver, pointer, attributes[i], values[i]) != kSuccess) clear(attributes[i], values[i]);
  }
  return kSuccess;
}
