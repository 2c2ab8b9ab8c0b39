#include "backends/level_zero_devices.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "backends/level_zero_api.h"
#include "failure.h"
#include "runtime_choice.h"

namespace usm_ipc {
namespace {

// Level Zero's lists are asked for twice: how many, and then which.
template <typename Item, typename Get>
std::vector<Item> list_of(const char* call, Get get) {
  uint32_t count = 0;
  require(call, get(&count, static_cast<Item*>(nullptr)));
  std::vector<Item> items(count);
  if (count > 0) require(call, get(&count, items.data()));
  items.resize(std::min<size_t>(count, items.size()));
  return items;
}

class OwnedContext {
 public:
  OwnedContext(const LevelZeroApi& api, ze::Driver driver) : api_(&api) {
    const ze::ContextDesc desc;
    require("zeContextCreate", api.zeContextCreate(driver, &desc, &context_));
    if (context_ == nullptr) {
      throw level_zero_failure("zeContextCreate", "null-result", "zeContextCreate gave no context, and no error");
    }
  }
  OwnedContext(OwnedContext&& other) noexcept
      : api_(other.api_), context_(std::exchange(other.context_, nullptr)) {}
  OwnedContext(const OwnedContext&) = delete;
  ~OwnedContext() {
    if (context_ != nullptr) api_->zeContextDestroy(context_);
  }
  ze::Context get() const { return context_; }
  void release() { context_ = nullptr; }

 private:
  const LevelZeroApi* api_;
  ze::Context context_ = nullptr;
};

const char* type_name(uint32_t type) {
  switch (type) {
    case ze::kDeviceGpu: return "gpu";
    case ze::kDeviceCpu: return "cpu";
    default: return "accelerator";
  }
}

bool is_software(const LevelZeroApi& api, ze::Driver driver) {
  void* function = nullptr;
  const ze::Result result = api.zeDriverGetExtensionFunctionAddress(driver, ze::kSoftwareDriverFunction, &function);
  return result == ze::kSuccess && function != nullptr;
}

uint64_t memory_of(const LevelZeroApi& api, ze::Device device) {
  // Not list_of(): each structure must have its type before the driver fills it in.
  const char* const call = "zeDeviceGetMemoryProperties";
  uint32_t count = 0;
  require(call, api.zeDeviceGetMemoryProperties(device, &count, nullptr));
  std::vector<ze::DeviceMemoryProperties> memories(count);
  if (count > 0) require(call, api.zeDeviceGetMemoryProperties(device, &count, memories.data()));
  uint64_t total = 0;
  for (const auto& memory : memories) total += memory.total_size;
  return total;
}

std::unique_ptr<LevelZeroDevice> describe(const LevelZeroApi& api, ze::Device handle, ze::Context context,
                                          bool software) {
  ze::DeviceProperties properties;
  const char* const call = "zeDeviceGetProperties";
  require(call, api.zeDeviceGetProperties(handle, &properties));
  if (properties.type == 0) {
    throw level_zero_failure(call, "null-result", std::string(call) + " told nothing of the device, and no error");
  }
  auto device = std::make_unique<LevelZeroDevice>();
  device->context = context;
  device->device = handle;
  device->subdevices = list_of<ze::Device>("zeDeviceGetSubDevices", [&](uint32_t* count, ze::Device* devices) {
    return api.zeDeviceGetSubDevices(handle, count, devices);
  });
  device->info.name.assign(properties.name, ::strnlen(properties.name, sizeof properties.name));
  device->info.type = type_name(properties.type);
  std::memcpy(device->info.uuid, properties.uuid.id, sizeof device->info.uuid);
  device->info.memory = memory_of(api, handle);
  device->info.software = software;
  return device;
}

LevelZeroDevices find_devices() {
  const LevelZeroApi& api = level_zero_api();
  const ze::Result initialized = api.zeInit(ze::kInitGpuOnly);
  if (initialized == ze::kUninitialized && !software_driver().empty()) {
    throw Failure(FailureKind::state, "no-driver",
                  "the software driver has no device (zeInit: ZE_RESULT_ERROR_UNINITIALIZED): ZE_AFFINITY_MASK or "
                  "USM_IPC_ZE_DEVICES leaves none");
  }
  if (initialized == ze::kUninitialized) {
    throw Failure(FailureKind::state, "no-driver",
                  "the Level Zero loader found no driver (zeInit: ZE_RESULT_ERROR_UNINITIALIZED); install the GPU's "
                  "(the package intel-level-zero-gpu or libze-intel-gpu1) and see to it that this user may open "
                  "/dev/dri/renderD*, or set USM_IPC_SOFTWARE_DRIVER=1 for the software driver");
  }
  require("zeInit", initialized);
  const auto drivers = list_of<ze::Driver>("zeDriverGet", [&](uint32_t* count, ze::Driver* all) {
    return api.zeDriverGet(count, all);
  });
  LevelZeroDevices devices;
  std::vector<OwnedContext> contexts;
  for (const ze::Driver driver : drivers) {
    const auto handles = list_of<ze::Device>("zeDeviceGet", [&](uint32_t* count, ze::Device* all) {
      return api.zeDeviceGet(driver, count, all);
    });
    if (handles.empty()) continue;
    const bool software = is_software(api, driver);
    const ze::Context context = contexts.emplace_back(api, driver).get();
    for (const ze::Device handle : handles) devices.push_back(describe(api, handle, context, software));
  }
  if (devices.empty()) {
    throw Failure(FailureKind::state, "no-such-device",
                  "the Level Zero driver has no device; see to it that this user may open /dev/dri/renderD*, or set "
                  "USM_IPC_SOFTWARE_DRIVER=1 for the software driver");
  }
  for (OwnedContext& context : contexts) context.release();
  return devices;
}

}  // namespace

bool LevelZeroDevice::is_or_has(ze::Device other) const {
  return other == device || std::find(subdevices.begin(), subdevices.end(), other) != subdevices.end();
}

const LevelZeroDevices& level_zero_devices() {
  // Never destroyed: threads may outlive static destruction.
  static std::mutex& mutex = *new std::mutex;
  static std::atomic<const LevelZeroDevices*> found{nullptr};
  if (const LevelZeroDevices* const known = found.load()) return *known;
  std::lock_guard<std::mutex> lock(mutex);
  if (found.load() == nullptr) found.store(new LevelZeroDevices(find_devices()));
  return *found.load();
}

LevelZeroDevice& level_zero_device(uint32_t index) {
  const LevelZeroDevices& devices = level_zero_devices();
  if (index < devices.size()) return *devices[index];
  throw Failure(FailureKind::argument, "no-such-device",
                "there is no Level Zero device " + std::to_string(index) + "; there are " +
                    std::to_string(devices.size()));
}

}  // namespace usm_ipc
