// What the environment says, read once. Every variable is described in docs/software-driver.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "level_zero/abi.h"

namespace usm_ipc::ze {

enum class HandleForm { classic, opaque, opaque_mirror };
enum class Hierarchy { composite, flat, combined };
enum class Tracing { off, refusals, calls };

// Call `call` (from 1; 0: every call) of `function` gives `result`, without doing anything.
struct Fault {
  std::string function;
  uint64_t call;
  Result result;
};

// The device is lost from call `call` of `function` on, from that many calls to the device where it is empty.
struct Loss {
  std::string function;
  uint64_t call = 0;  // 0: never
};

// One entry of ZE_AFFINITY_MASK: "1" or "0.1".
struct Selected {
  uint32_t device;
  int subdevice;  // -1: all of the device
};

struct Config {
  HandleForm handles = HandleForm::opaque_mirror;
  uint32_t devices = 1;
  uint32_t subdevices = 0;
  uint64_t memory = 0;  // bytes a device
  uint32_t ip_version = 0;
  Tracing tracing = Tracing::off;
  std::vector<Fault> faults;
  Loss loss;
  Hierarchy hierarchy = Hierarchy::composite;
  bool masked = false;
  std::string mask_text;
  std::vector<Selected> mask;
  bool valid = true;  // false: a variable makes no sense (said on stderr), zeInit() refuses
};

const Config& config();

}  // namespace usm_ipc::ze
