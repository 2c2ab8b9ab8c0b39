#include "backends/sycl_memory.h"

#include <string>

namespace usm_ipc {
namespace {

constexpr char kOpen[] = "sycl::ext::oneapi::experimental::ipc::memory::open";

usm_ipc_sycl_usm type_of(const SyclDevice& on, void* pointer) {
  usm_ipc_sycl_usm type = USM_IPC_SYCL_UNKNOWN;
  check_sycl(sycl().pointer_type(pointer, on.context, &type));
  return type;
}

uint32_t device_of(const SyclDevice& on, void* pointer) {
  uint32_t device = 0;
  check_sycl(sycl().pointer_device(pointer, on.context, &device));
  return device;
}

}  // namespace

Extent sycl_extent(const SyclDevice& on, void* pointer) {
  Extent extent{};
  size_t nbytes = 0;
  check_sycl(sycl().extent(pointer, on.context, &extent.base, &nbytes));
  extent.nbytes = nbytes;
  return extent;
}

void check_sycl_device_memory(uint32_t device, void* pointer) {
  const SyclDevice& on = sycl_device(device);
  const usm_ipc_sycl_usm type = type_of(on, pointer);
  if (type != USM_IPC_SYCL_DEVICE) {
    throw Failure(FailureKind::argument, "not-device-memory",
                  type == USM_IPC_SYCL_UNKNOWN
                      ? "the SYCL runtime knows no USM at that address in the device's default context"
                      : "host and shared USM cannot be shared with other processes");
  }
  const uint32_t owner = device_of(on, pointer);
  if (owner != device) {
    throw Failure(FailureKind::argument, "wrong-device",
                  "the memory is on \"" + sycl_device(owner).info.name + "\" (device " + std::to_string(owner) + ")");
  }
}

Extent check_sycl_mapping(uint32_t device, void* pointer, uint64_t offset) {
  const SyclDevice& on = sycl_device(device);
  const Extent extent = sycl_extent(on, pointer);
  const uint64_t found = static_cast<uint8_t*>(pointer) - static_cast<uint8_t*>(extent.base);
  if (found != offset || offset >= extent.nbytes) {
    throw driver_failure("sycl", kOpen, "wrong-extent", 0,
                         "the pointer is not at the handle's offset in the driver's mapping");
  }
  const usm_ipc_sycl_usm type = type_of(on, pointer);
  if (type != USM_IPC_SYCL_DEVICE) {
    throw driver_failure("sycl", kOpen, "wrong-type", type, "the mapping is not device memory");
  }
  const uint32_t owner = device_of(on, pointer);
  if (owner != device) throw driver_failure("sycl", kOpen, "wrong-device", owner, "the mapping is on another device");
  return extent;
}

}  // namespace usm_ipc
