#include "doctor/level_zero.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "failure.h"
#include "level_zero/abi.h"
#include "level_zero/results.h"

namespace usm_ipc::doctor {
namespace {

namespace f = ze::functions;

constexpr uint32_t kMost = 4096;  // of anything that a driver counts

// zel_component_version_t of the loader
struct ComponentVersion {
  char name[64];
  uint32_t spec_version;
  int major, minor, patch;
};
using zelLoaderGetVersions = ze::Result(size_t* count, ComponentVersion* versions);

class Loader {
 public:
  explicit Loader(const std::string& path) : library_(::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
    if (library_ != nullptr) return;
    const char* const error = ::dlerror();
    Failure failure(FailureKind::driver, "no-loader", error == nullptr ? "dlopen failed" : error);
    failure.backend = "level_zero";
    failure.call = "dlopen";
    throw failure;
  }

  // Null where the loader has no such function.
  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(library_, name));
  }

  template <typename Function, typename... Arguments>
  void call(const char* name, Arguments... arguments) const {
    Function* const function = find<Function>(name);
    const ze::Result result = function == nullptr ? ze::kUnsupportedFeature : function(arguments...);
    if (result != ze::kSuccess) throw driver_failure("level_zero", name, ze_result_name(result), result);
  }

 private:
  void* library_;  // never closed: drivers do not bear it
};

std::string text(const char* from, size_t size) { return std::string(from, ::strnlen(from, size)); }

std::vector<ze::Driver> handles(const Loader& loader) {
  uint32_t count = 0;
  if (loader.find<f::zeInitDrivers>("zeInitDrivers") != nullptr) {
    ze::InitDriverTypeDesc type;
    loader.call<f::zeInitDrivers>("zeInitDrivers", &count, nullptr, &type);
    std::vector<ze::Driver> drivers(std::min(count, kMost));
    loader.call<f::zeInitDrivers>("zeInitDrivers", &count, drivers.data(), &type);
    return drivers;
  }
  loader.call<f::zeDriverGet>("zeDriverGet", &count, nullptr);
  std::vector<ze::Driver> drivers(std::min(count, kMost));
  loader.call<f::zeDriverGet>("zeDriverGet", &count, drivers.data());
  return drivers;
}

std::vector<std::string> extensions(const Loader& loader, ze::Driver driver) {
  uint32_t count = 0;
  loader.call<f::zeDriverGetExtensionProperties>("zeDriverGetExtensionProperties", driver, &count, nullptr);
  std::vector<ze::DriverExtensionProperties> properties(count = std::min(count, kMost));
  if (count == 0) return {};
  loader.call<f::zeDriverGetExtensionProperties>("zeDriverGetExtensionProperties", driver, &count, properties.data());
  std::vector<std::string> names;
  for (const auto& extension : properties) names.push_back(text(extension.name, sizeof extension.name));
  return names;
}

uint64_t memory_of(const Loader& loader, ze::Device device) {
  uint32_t count = 0;
  loader.call<f::zeDeviceGetMemoryProperties>("zeDeviceGetMemoryProperties", device, &count, nullptr);
  std::vector<ze::DeviceMemoryProperties> memories(count = std::min(count, kMost));
  if (count == 0) return 0;
  loader.call<f::zeDeviceGetMemoryProperties>("zeDeviceGetMemoryProperties", device, &count, memories.data());
  uint64_t total = 0;
  for (const auto& memory : memories) total += memory.total_size;
  return total;
}

LevelZeroDevice describe(const Loader& loader, ze::Device device, bool tells_ip_version) {
  ze::DeviceIpVersionExt ip_version;
  ze::DeviceProperties properties;
  if (tells_ip_version) properties.next = &ip_version;
  loader.call<f::zeDeviceGetProperties>("zeDeviceGetProperties", device, &properties);
  LevelZeroDevice described;
  described.name = text(properties.name, sizeof properties.name);
  described.type = properties.type;
  described.vendor_id = properties.vendor_id;
  described.device_id = properties.device_id;
  described.ip_version = ip_version.ip_version;
  std::memcpy(described.uuid, properties.uuid.id, sizeof described.uuid);
  loader.call<f::zeDeviceGetSubDevices>("zeDeviceGetSubDevices", device, &described.subdevices, nullptr);
  described.memory = memory_of(loader, device);
  return described;
}

LevelZeroDriver describe(const Loader& loader, ze::Driver driver) {
  LevelZeroDriver described;
  loader.call<f::zeDriverGetApiVersion>("zeDriverGetApiVersion", driver, &described.api_version);
  ze::DriverProperties properties;
  loader.call<f::zeDriverGetProperties>("zeDriverGetProperties", driver, &properties);
  described.driver_version = properties.driver_version;
  ze::DriverIpcProperties ipc;
  auto* const ipc_properties = loader.find<f::zeDriverGetIpcProperties>("zeDriverGetIpcProperties");
  if (ipc_properties != nullptr && ipc_properties(driver, &ipc) == ze::kSuccess) described.ipc_flags = ipc.flags;
  described.extensions = extensions(loader, driver);
  const auto lists = [&](const char* name) {
    return std::find(described.extensions.begin(), described.extensions.end(), name) != described.extensions.end();
  };
  described.software = lists(ze::kSoftwareDriverExtension);
  const bool tells_ip_version =
      described.api_version >= ze::make_version(1, 5) || lists("ZE_extension_device_ip_version");
  uint32_t count = 0;
  loader.call<f::zeDeviceGet>("zeDeviceGet", driver, &count, nullptr);
  std::vector<ze::Device> devices(count = std::min(count, kMost));
  if (count > 0) loader.call<f::zeDeviceGet>("zeDeviceGet", driver, &count, devices.data());
  for (const ze::Device device : devices) described.devices.push_back(describe(loader, device, tells_ip_version));
  return described;
}

}  // namespace

LevelZeroInit level_zero_init(const std::string& path) {
  const Loader loader(path);
  if (auto* const init_drivers = loader.find<f::zeInitDrivers>("zeInitDrivers")) {
    uint32_t count = 0;
    ze::InitDriverTypeDesc type;
    return {"zeInitDrivers", init_drivers(&count, nullptr, &type)};
  }
  auto* const init = loader.find<f::zeInit>("zeInit");
  return {"zeInit", init == nullptr ? ze::kUnsupportedFeature : init(ze::kInitGpuOnly)};
}

std::vector<LevelZeroDriver> level_zero_drivers(const std::string& path) {
  const Loader loader(path);
  std::vector<LevelZeroDriver> drivers;
  for (const ze::Driver driver : handles(loader)) drivers.push_back(describe(loader, driver));
  return drivers;
}

std::vector<LoaderComponent> loader_versions(const std::string& path) {
  const Loader loader(path);
  size_t count = 0;
  auto* const get = loader.find<zelLoaderGetVersions>("zelLoaderGetVersions");
  if (get == nullptr || get(&count, nullptr) != ze::kSuccess) return {};
  std::vector<ComponentVersion> versions(count = std::min<size_t>(count, kMost));
  if (count == 0 || get(&count, versions.data()) != ze::kSuccess) return {};
  std::vector<LoaderComponent> components;
  for (const auto& v : versions) components.push_back({text(v.name, sizeof v.name), v.major, v.minor, v.patch});
  return components;
}

}  // namespace usm_ipc::doctor
