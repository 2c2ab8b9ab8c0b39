#include "level_zero_cpu/devices.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "unique_fd.h"

namespace usm_ipc::ze {
namespace {

using BootId = std::array<uint8_t, 16>;

// Zeros where the kernel does not say.
BootId boot_id() {
  char text[37] = {};
  const UniqueFd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  BootId id{};
  if (!file || ::read(file.get(), text, 36) != 36) return id;
  size_t digits = 0;
  for (const char c : text) {
    const int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (value < 0 || digits >= 32) continue;
    id[digits / 2] = static_cast<uint8_t>(id[digits / 2] << 4 | value);
    digits++;
  }
  return id;
}

// One boot of one kernel has these devices, whichever process or container asks. RFC 9562's version 8: our own recipe.
Uuid device_uuid(const BootId& boot, uint32_t device, int subdevice) {
  static const char domain[] = "usm-ipc ze cpu  ";
  static_assert(sizeof domain == kUuidSize + 1);
  Uuid uuid;
  for (size_t i = 0; i < kUuidSize; i++) uuid.id[i] = boot[i] ^ static_cast<uint8_t>(domain[i]);
  uuid.id[14] ^= static_cast<uint8_t>(device);
  uuid.id[15] ^= static_cast<uint8_t>(subdevice + 1);
  uuid.id[6] = (uuid.id[6] & 0x0f) | 0x80;
  uuid.id[8] = (uuid.id[8] & 0x3f) | 0x80;
  return uuid;
}

class Topology {
 public:
  Topology() : boot_(boot_id()) {
    for (uint32_t i = 0; i < config().devices; i++) add_root(i);
    if (config().hierarchy == Hierarchy::composite) select_composite();
    else select_flat();
    // UNINITIALIZED, which is what programs see, would send people after drivers.
    if (visible.empty()) {
      std::fprintf(stderr, "usm-ipc software driver: ZE_AFFINITY_MASK=%s leaves no device\n",
                   config().mask_text.c_str());
    }
  }

  std::vector<DeviceHandle*> visible;

 private:
  DeviceHandle* add(uint32_t device, int subdevice, DeviceMemory* memory) {
    std::string name = "usm-ipc software device " + std::to_string(device);
    if (subdevice >= 0) name += "." + std::to_string(subdevice);
    name += " (Level Zero on the CPU)";
    const uint32_t index = subdevice < 0 ? device : static_cast<uint32_t>(subdevice);
    return new DeviceHandle{Kind::device, device_uuid(boot_, device, subdevice), name, index, nullptr, {}, memory};
  }

  void add_root(uint32_t index) {
    auto* const memory = new DeviceMemory{config().memory};
    DeviceHandle* const root = add(index, -1, memory);
    for (uint32_t i = 0; i < config().subdevices; i++) {
      root->subdevices.push_back(add(index, static_cast<int>(i), memory));
      root->subdevices.back()->root = root;
    }
    roots_.push_back(root);
  }

  // Root devices with those sub-devices that the mask leaves; one of which only one is left is that sub-device.
  void select_composite() {
    for (DeviceHandle* const root : roots_) {
      bool whole = !config().masked;
      std::vector<DeviceHandle*> left;
      for (DeviceHandle* const sub : root->subdevices) {
        if (masked_in(root->index, static_cast<int>(sub->index))) left.push_back(sub);
      }
      whole = whole || masked_in(root->index, -1);
      if (whole) {
        visible.push_back(root);
      } else if (left.size() == 1) {
        left[0]->root = nullptr;
        visible.push_back(left[0]);
      } else if (!left.empty()) {
        root->subdevices = left;
        visible.push_back(root);
      }
    }
  }

  // Sub-devices (where there are any) as devices, which the mask counts as such.
  void select_flat() {
    uint32_t count = 0;
    for (DeviceHandle* const root : roots_) {
      const std::vector<DeviceHandle*> one{root};
      for (DeviceHandle* const device : root->subdevices.empty() ? one : root->subdevices) {
        if (!config().masked || masked_in(count, -1)) visible.push_back(device);
        if (config().hierarchy == Hierarchy::flat) device->root = nullptr;
        count++;
      }
    }
  }

  static bool masked_in(uint32_t device, int subdevice) {
    const auto& mask = config().mask;
    return std::any_of(mask.begin(), mask.end(), [&](const Selected& selected) {
      return selected.device == device && selected.subdevice == subdevice;
    });
  }

  const BootId boot_;
  std::vector<DeviceHandle*> roots_;
};

}  // namespace

DriverHandle& driver() {
  static DriverHandle* const only = new DriverHandle;
  return *only;
}

const std::vector<DeviceHandle*>& devices() {
  static const Topology* const topology = new Topology;  // handles are good for as long as the process is
  return topology->visible;
}

uint64_t timestamp() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace usm_ipc::ze
