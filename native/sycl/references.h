// dpctl's opaque references are the SYCL objects' addresses.
#pragma once

#include <sycl/context.hpp>
#include <sycl/device.hpp>

#include "last_error.h"

namespace usm_ipc::sycl_library {

inline const sycl::context& context_of(const DPCTLSyclContextRef reference) {
  return *reinterpret_cast<const sycl::context*>(required(reference, "the context is null"));
}
inline const sycl::device& device_of(const DPCTLSyclDeviceRef reference) {
  return *reinterpret_cast<const sycl::device*>(required(reference, "the device is null"));
}
inline void* pointer_of(DPCTLSyclUSMRef reference) {
  return reinterpret_cast<void*>(required(reference, "the pointer is null"));
}
inline DPCTLSyclUSMRef reference_to(void* pointer) { return reinterpret_cast<DPCTLSyclUSMRef>(pointer); }

}  // namespace usm_ipc::sycl_library
