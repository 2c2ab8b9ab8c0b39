#include "devices.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <sycl/ext/intel/info/device.hpp>
#include <sycl/platform.hpp>
#include <sycl/properties/all_properties.hpp>

#include "references.h"

namespace usm_ipc::sycl_library {
namespace {

std::unique_ptr<const Devices> list_devices() {
  auto listed = std::make_unique<Devices>();
  for (const sycl::platform& platform : sycl::platform::get_platforms()) {
    if (platform.get_backend() != sycl::backend::ext_oneapi_level_zero) continue;
    for (const sycl::device& device : platform.get_devices()) {
      listed->push_back(std::make_unique<Device>(device, platform.khr_get_default_context()));
    }
  }
  return listed;
}

const char* type_name(sycl::info::device_type type) {
  switch (type) {
    case sycl::info::device_type::gpu:
      return "gpu";
    case sycl::info::device_type::cpu:
      return "cpu";
    case sycl::info::device_type::accelerator:
      return "accelerator";
    default:
      return "other";
  }
}

template <size_t size>
void put_text(char (&field)[size], const std::string& text) {
  const size_t length = std::min(text.size(), size - 1);
  std::memcpy(field, text.data(), length);
  field[length] = 0;
}

usm_ipc_sycl_device_info describe(const sycl::device& device) {
  usm_ipc_sycl_device_info info{};
  put_text(info.name, device.get_info<sycl::info::device::name>());
  put_text(info.type, type_name(device.get_info<sycl::info::device::device_type>()));
  put_text(info.driver_version, device.get_info<sycl::info::device::driver_version>());
  const auto uuid = device.get_info<sycl::ext::intel::info::device::uuid>();
  static_assert(sizeof uuid == sizeof info.uuid);
  std::memcpy(info.uuid, uuid.data(), sizeof info.uuid);
  info.memory = device.get_info<sycl::info::device::global_mem_size>();
  info.ipc_memory = device.has(sycl::aspect::ext_oneapi_ipc_memory);
  info.software = is_software(device);
  return info;
}

}  // namespace

sycl::queue& Device::queue() {
  const std::lock_guard lock(mutex_);
  if (!queue_) queue_.emplace(context, device, sycl::property_list{sycl::property::queue::in_order()});
  return *queue_;
}

const Devices& devices() {
  static std::mutex mutex;
  static const Devices* listed = nullptr;
  const std::lock_guard lock(mutex);
  if (listed == nullptr) listed = list_devices().release();
  return *listed;
}

Device& device_at(uint32_t index) {
  const Devices& all = devices();
  if (index >= all.size()) throw BadArgument{"there is no device with that index"};
  return *all[index];
}

}  // namespace usm_ipc::sycl_library

using namespace usm_ipc::sycl_library;

extern "C" int usm_ipc_sycl_device_count(uint32_t* count) {
  return guarded("sycl::platform::get_platforms", [&] {
    *required(count, "count is null") = static_cast<uint32_t>(devices().size());
  });
}

extern "C" int usm_ipc_sycl_get_device_info(uint32_t index, usm_ipc_sycl_device_info* info) {
  return guarded("sycl::device::get_info",
                 [&] { *required(info, "info is null") = describe(device_at(index).device); });
}

extern "C" DPCTLSyclDeviceRef usm_ipc_sycl_device(uint32_t index) {
  return guarded("sycl::platform::get_platforms", DPCTLSyclDeviceRef{nullptr},
                 [&] { return reinterpret_cast<DPCTLSyclDeviceRef>(&device_at(index).device); });
}

extern "C" DPCTLSyclContextRef usm_ipc_sycl_default_context(uint32_t index) {
  return guarded("sycl::platform::get_platforms", DPCTLSyclContextRef{nullptr},
                 [&] { return reinterpret_cast<DPCTLSyclContextRef>(&device_at(index).context); });
}

extern "C" int DPCTLIPCMem_Available() {
  return guarded("sycl::device::has", 0, [] {
    return static_cast<int>(std::any_of(devices().begin(), devices().end(), [](const auto& device) {
      return device->device.has(sycl::aspect::ext_oneapi_ipc_memory);
    }));
  });
}
