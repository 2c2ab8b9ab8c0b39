// The process's devices, each with its platform's default context and an in-order queue of the library's own.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <sycl/context.hpp>
#include <sycl/device.hpp>
#include <sycl/queue.hpp>

namespace usm_ipc::sycl_library {

class Device {
 public:
  Device(sycl::device device, sycl::context context) : device(std::move(device)), context(std::move(context)) {}
  // Made when it is first used.
  sycl::queue& queue();

  sycl::device device;
  sycl::context context;

 private:
  std::mutex mutex_;
  std::optional<sycl::queue> queue_;
};

using Devices = std::vector<std::unique_ptr<Device>>;

// Listed once, never destroyed. Throws what the runtime throws, and then lists again the next time.
const Devices& devices();
Device& device_at(uint32_t index);
// Whether usm-ipc's own Level Zero driver is behind the device.
bool is_software(const sycl::device& device);

}  // namespace usm_ipc::sycl_library
