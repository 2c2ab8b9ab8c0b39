// The devices of this process: what the configuration makes, less what ZE_AFFINITY_MASK hides.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "level_zero_cpu/objects.h"

namespace usm_ipc::ze {

// Of one root device, which its sub-devices share.
struct DeviceMemory {
  uint64_t total;
  std::atomic<uint64_t> used{0};
};

struct DeviceHandle {
  Kind kind = Kind::device;
  Uuid uuid;
  std::string name;
  uint32_t index;           // of a sub-device: in its root device
  DeviceHandle* root;       // null: it stands for itself
  std::vector<DeviceHandle*> subdevices;
  DeviceMemory* memory;
};

inline DeviceHandle& object(Device handle) { return check_kind(handle, Kind::device), *handle; }

DriverHandle& driver();
const std::vector<DeviceHandle*>& devices();

// Nanoseconds of a clock that all processes of the machine share.
uint64_t timestamp();
constexpr uint32_t kTimestampBits = 62;

}  // namespace usm_ipc::ze
