// Memory as the runtime and its driver see it: the handles that they give of it, and what they say that it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "backend.h"
#include "backends/sycl_devices.h"

namespace usm_ipc {

inline DPCTLSyclUSMRef reference_to(void* pointer) { return reinterpret_cast<DPCTLSyclUSMRef>(pointer); }

// A handle that the runtime has given, given back when this ends.
class GivenSyclHandle {
 public:
  GivenSyclHandle(void* pointer, const SyclDevice& on) {
    check_sycl(sycl().get(reference_to(pointer), on.context, &handle_, &data_, &size_));
  }
  GivenSyclHandle(GivenSyclHandle&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), data_(other.data_), size_(other.size_) {}
  GivenSyclHandle& operator=(GivenSyclHandle&&) = delete;
  ~GivenSyclHandle() {
    if (handle_ != nullptr) sycl().put(handle_);
  }
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(data_); }
  size_t size() const { return size_; }

 private:
  usm_ipc_sycl_handle* handle_ = nullptr;
  const char* data_ = nullptr;
  size_t size_ = 0;
};

// The driver's base allocation or mapping that `pointer` lies in.
Extent sycl_extent(const SyclDevice& on, void* pointer);

// Throws Failure{argument, "not-device-memory" | "wrong-device"} unless `pointer` is device USM of that device.
void check_sycl_device_memory(uint32_t device, void* pointer);

// Throws a driver failure unless what open() gave is device memory of that device, `offset` bytes into the driver's
// mapping. Returns the mapping's extent.
Extent check_sycl_mapping(uint32_t device, void* pointer, uint64_t offset);

}  // namespace usm_ipc
