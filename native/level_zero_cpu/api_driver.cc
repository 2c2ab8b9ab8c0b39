#include <algorithm>
#include <atomic>
#include <cstring>

#include "level_zero_cpu/devices.h"
#include "level_zero_cpu/entry_points.h"

namespace usm_ipc::ze {
namespace {

constexpr uint32_t kApiVersion = make_version(1, 10);
// Below every number from which the SYCL runtime takes for granted what this driver does not do.
constexpr uint32_t kDriverVersion = 1;

std::atomic<bool> initialized{false};

void initialize() {
  require(config().valid, kInvalidArgument);
  require(!devices().empty(), kUninitialized);
  initialized = true;
}

void give_driver(uint32_t* count, Driver* drivers) {
  enumerate(1, count, drivers, [](uint32_t, Driver& to) { to = &driver(); });
}

extern "C" Result software_driver() { return kSuccess; }

}  // namespace

USM_IPC_ZE_API Result zeInit(uint32_t flags) {
  return entry("zeInit", Reach::host, [&] {
    require((flags & ~(kInitGpuOnly | kInitVpuOnly)) == 0, kInvalidEnumeration);
    require(flags != kInitVpuOnly, kUninitialized);
    initialize();
  });
}

USM_IPC_ZE_API Result zeInitDrivers(uint32_t* count, Driver* drivers, InitDriverTypeDesc* desc) {
  return entry("zeInitDrivers", Reach::host, [&] {
    required(count);
    require(required(desc).flags != 0, kInvalidEnumeration);
    if ((desc->flags & kDriverTypeGpu) == 0) {
      *count = 0;
      return;
    }
    initialize();
    give_driver(count, drivers);
  });
}

USM_IPC_ZE_API Result zeDriverGet(uint32_t* count, Driver* drivers) {
  return entry("zeDriverGet", Reach::host, [&] {
    require(initialized, kUninitialized);
    give_driver(count, drivers);
  });
}

USM_IPC_ZE_API Result zeDriverGetApiVersion(Driver handle, uint32_t* version) {
  return entry("zeDriverGetApiVersion", Reach::host, [&] {
    object(handle);
    required(version) = kApiVersion;
  });
}

USM_IPC_ZE_API Result zeDriverGetProperties(Driver handle, DriverProperties* properties) {
  return entry("zeDriverGetProperties", Reach::host, [&] {
    object(handle);
    static const char uuid[] = "usm-ipc software";
    static_assert(sizeof uuid == kUuidSize + 1);
    std::memcpy(required(properties).uuid.id, uuid, kUuidSize);
    properties->driver_version = kDriverVersion;
  });
}

USM_IPC_ZE_API Result zeDriverGetIpcProperties(Driver handle, DriverIpcProperties* properties) {
  return entry("zeDriverGetIpcProperties", Reach::host, [&] {
    object(handle);
    required(properties).flags = kIpcMemory;
  });
}

USM_IPC_ZE_API Result zeDriverGetExtensionProperties(Driver handle, uint32_t* count,
                                                     DriverExtensionProperties* extensions) {
  return entry("zeDriverGetExtensionProperties", Reach::host, [&] {
    object(handle);
    enumerate(1, count, extensions, [](uint32_t, DriverExtensionProperties& to) {
      to = {};
      std::memcpy(to.name, kSoftwareDriverExtension, sizeof kSoftwareDriverExtension);
      to.version = make_version(1, 0);
    });
  });
}

USM_IPC_ZE_API Result zeDriverGetExtensionFunctionAddress(Driver handle, const char* name, void** function) {
  return entry("zeDriverGetExtensionFunctionAddress", Reach::host, [&] {
    object(handle);
    const bool known = std::strcmp(&required(name), kSoftwareDriverFunction) == 0;
    required(function) = known ? reinterpret_cast<void*>(&software_driver) : nullptr;
    require(known, kInvalidArgument);
  });
}

USM_IPC_ZE_API Result zeDriverGetLastErrorDescription(Driver handle, const char** text) {
  return entry("zeDriverGetLastErrorDescription", Reach::host, [&] {
    object(handle);
    required(text) = "";
  });
}

// By which our own backends know this driver without a call.
extern "C" __attribute__((visibility("default"))) const uint32_t usmIpcSoftwareDriverVersion = kDriverVersion;

}  // namespace usm_ipc::ze
