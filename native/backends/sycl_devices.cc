#include "backends/sycl_devices.h"

#include <cstring>
#include <string>
#include <utility>

namespace usm_ipc {
namespace {

SyclDevice describe(uint32_t index) {
  usm_ipc_sycl_device_info info;
  check_sycl(sycl().get_device_info(index, &info));
  SyclDevice device{{info.name, info.type, {}, info.memory, info.software != 0},
                    info.ipc_memory != 0,
                    sycl().device(index),
                    sycl().default_context(index)};
  std::memcpy(device.info.uuid, info.uuid, sizeof device.info.uuid);
  if (device.device == nullptr || device.context == nullptr) throw sycl_failure(sycl());
  return device;
}

std::vector<SyclDevice> list_devices() {
  uint32_t count = 0;
  check_sycl(sycl().device_count(&count));
  std::vector<SyclDevice> all;
  for (uint32_t index = 0; index < count; index++) all.push_back(describe(index));
  return all;
}

}  // namespace

const SyclLibrary& sycl() {
  static const SyclLibrary* const library = [] {
    std::string why;
    const SyclLibrary* const loaded = sycl_library(why);
    if (loaded == nullptr) throw Failure(FailureKind::state, "backend-unavailable", why);
    return loaded;
  }();
  return *library;
}

const std::vector<SyclDevice>& sycl_devices() {
  // Never destroyed: threads may outlive static destruction.
  static const auto* const all = new std::vector<SyclDevice>(list_devices());
  return *all;
}

const SyclDevice& sycl_device(uint32_t index) {
  const std::vector<SyclDevice>& all = sycl_devices();
  if (index < all.size()) return all[index];
  throw Failure(FailureKind::argument, "no-such-device",
                "the sycl backend has " + std::to_string(all.size()) + " devices, numbered from 0");
}

const SyclDevice& sycl_ipc_device(uint32_t index) {
  const SyclDevice& device = sycl_device(index);
  if (device.ipc_memory) return device;
  throw Failure(FailureKind::state, "no-ipc-memory",
                "\"" + device.info.name + "\" cannot share memory with other processes: it lacks SYCL's aspect "
                "ext_oneapi_ipc_memory");
}

void check_sycl(int failed) {
  if (failed != 0) throw sycl_failure(sycl());
}

}  // namespace usm_ipc
