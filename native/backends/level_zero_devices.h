// The devices of all Level Zero drivers, each with the context that its memory lives in.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backend.h"
#include "backends/level_zero_handle.h"
#include "level_zero/abi.h"

namespace usm_ipc {

struct LevelZeroDevice {
  ze::Context context = nullptr;  // one for each driver
  ze::Device device = nullptr;
  std::vector<ze::Device> subdevices;
  DeviceInfo info{};

  // Guards what follows. A list of a device is used by one thread at a time.
  std::mutex mutex;
  ze::CommandList list = nullptr;  // made at first use
  bool form_known = false;
  LevelZeroForm form = LevelZeroForm::classic;

  // Its memory belongs to the whole device or to one of its tiles.
  bool is_or_has(ze::Device other) const;
};

using LevelZeroDevices = std::vector<std::unique_ptr<LevelZeroDevice>>;

// One at least. The first success is kept; until then each call tries again. Throws Failure{state, "no-loader" |
// "no-driver" | "no-such-device"} or the failure of a driver's call.
const LevelZeroDevices& level_zero_devices();

// Throws Failure{argument, "no-such-device"} too.
LevelZeroDevice& level_zero_device(uint32_t index);

}  // namespace usm_ipc
