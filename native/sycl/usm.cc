#include <sycl/usm.hpp>

#include "devices.h"
#include "references.h"

using namespace usm_ipc::sycl_library;

namespace {

struct Kind {
  sycl::usm::alloc alloc;
  const char* call;
};

Kind kind_of(usm_ipc_sycl_usm type) {
  switch (type) {
    case USM_IPC_SYCL_DEVICE:
      return {sycl::usm::alloc::device, "sycl::malloc_device"};
    case USM_IPC_SYCL_HOST:
      return {sycl::usm::alloc::host, "sycl::malloc_host"};
    case USM_IPC_SYCL_SHARED:
      return {sycl::usm::alloc::shared, "sycl::malloc_shared"};
    default:
      return {sycl::usm::alloc::unknown, "sycl::malloc"};
  }
}

usm_ipc_sycl_usm type_of(sycl::usm::alloc alloc) {
  switch (alloc) {
    case sycl::usm::alloc::device:
      return USM_IPC_SYCL_DEVICE;
    case sycl::usm::alloc::host:
      return USM_IPC_SYCL_HOST;
    case sycl::usm::alloc::shared:
      return USM_IPC_SYCL_SHARED;
    default:
      return USM_IPC_SYCL_UNKNOWN;
  }
}

uint32_t index_of(const sycl::device& device) {
  const Devices& all = devices();
  for (uint32_t index = 0; index < all.size(); index++) {
    if (all[index]->device == device) return index;
  }
  throw BadArgument{"the memory is on a device (or part of one) that is not listed"};
}

}  // namespace

extern "C" DPCTLSyclUSMRef usm_ipc_sycl_allocate(usm_ipc_sycl_usm type, size_t nbytes,
                                                 const DPCTLSyclContextRef context, const DPCTLSyclDeviceRef device) {
  const Kind kind = kind_of(type);
  return guarded(kind.call, DPCTLSyclUSMRef{nullptr}, [&] {
    if (kind.alloc == sycl::usm::alloc::unknown) throw BadArgument{"there is no such type of USM"};
    void* pointer = sycl::malloc(nbytes, device_of(device), context_of(context), kind.alloc);
    if (pointer == nullptr) throw NullResult{"the runtime gave no memory and no error: out of memory, most often"};
    return reference_to(pointer);
  });
}

extern "C" int usm_ipc_sycl_free(DPCTLSyclUSMRef pointer, const DPCTLSyclContextRef context) {
  return guarded("sycl::free", [&] { sycl::free(pointer_of(pointer), context_of(context)); });
}

extern "C" int usm_ipc_sycl_pointer_type(const void* pointer, const DPCTLSyclContextRef context,
                                         usm_ipc_sycl_usm* type) {
  return guarded("sycl::get_pointer_type", [&] {
    *required(type, "type is null") = type_of(sycl::get_pointer_type(pointer, context_of(context)));
  });
}

extern "C" int usm_ipc_sycl_pointer_device(const void* pointer, const DPCTLSyclContextRef context, uint32_t* index) {
  return guarded("sycl::get_pointer_device", [&] {
    *required(index, "index is null") = index_of(sycl::get_pointer_device(pointer, context_of(context)));
  });
}

extern "C" int usm_ipc_sycl_memcpy(uint32_t device, void* to, const void* from, size_t nbytes) {
  return guarded("sycl::queue::memcpy", [&] { device_at(device).queue().memcpy(to, from, nbytes); });
}

// Not fill(), which is a kernel and needs a device compiler.
extern "C" int usm_ipc_sycl_memset(uint32_t device, void* to, int value, size_t nbytes) {
  return guarded("sycl::queue::memset", [&] { device_at(device).queue().memset(to, value, nbytes); });
}

extern "C" int usm_ipc_sycl_wait(uint32_t device) {
  return guarded("sycl::queue::wait", [&] { device_at(device).queue().wait_and_throw(); });
}
