// What a Level Zero loader and the drivers behind it say of themselves. Each step may crash in a driver: for a process
// that is made for this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace usm_ipc::doctor {

struct LevelZeroInit {
  const char* call;  // zeInitDrivers, or zeInit where the loader is older
  uint32_t result;
};

struct LevelZeroDevice {
  std::string name;
  uint32_t type = 0;  // ze_device_type_t
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  uint32_t subdevices = 0;
  uint32_t ip_version = 0;  // 0: the driver does not tell
  uint64_t memory = 0;
  uint8_t uuid[16] = {};
};

struct LevelZeroDriver {
  uint32_t api_version = 0;
  uint32_t driver_version = 0;
  uint32_t ipc_flags = 0;
  std::vector<std::string> extensions;
  std::vector<LevelZeroDevice> devices;
  bool software = false;
};

struct LoaderComponent {
  std::string name;
  int major, minor, patch;
};

// `path`: what dlopen() takes. They throw a driver failure with the call that failed.
LevelZeroInit level_zero_init(const std::string& path);
std::vector<LevelZeroDriver> level_zero_drivers(const std::string& path);
// Empty where the loader has no zelLoaderGetVersions().
std::vector<LoaderComponent> loader_versions(const std::string& path);

}  // namespace usm_ipc::doctor
