// Drivers, devices, contexts.
#include <set>

#include "program.h"

using namespace usm_ipc::ze;

namespace {

std::vector<Device> devices_of(Driver driver) {
  uint32_t count = 0;
  GIVES(ZE(zeDeviceGet)(driver, &count, nullptr), kSuccess);
  std::vector<Device> all(count);
  GIVES(ZE(zeDeviceGet)(driver, &count, all.data()), kSuccess);
  return all;
}

std::vector<Device> subdevices_of(Device device) {
  uint32_t count = 0;
  GIVES(ZE(zeDeviceGetSubDevices)(device, &count, nullptr), kSuccess);
  std::vector<Device> all(count);
  GIVES(ZE(zeDeviceGetSubDevices)(device, &count, all.data()), kSuccess);
  return all;
}

DeviceProperties properties_of(Device device) {
  DeviceProperties properties;
  GIVES(ZE(zeDeviceGetProperties)(device, &properties), kSuccess);
  return properties;
}

std::string hex(const Uuid& uuid) {
  std::string text;
  for (const uint8_t byte : uuid.id) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte);
    text += two;
  }
  return text;
}

Driver only_driver() {
  uint32_t count = 0;
  GIVES(ZE(zeDriverGet)(&count, nullptr), kSuccess);
  EXPECT(count == 1);
  Driver driver = nullptr;
  GIVES(ZE(zeDriverGet)(&count, &driver), kSuccess);
  EXPECT(driver != nullptr);
  return driver;
}

}  // namespace

CASE(initialization) {
  uint32_t count = 0;
  GIVES(ZE(zeDriverGet)(&count, nullptr), kUninitialized);
  GIVES(ZE(zeInit)(kInitVpuOnly), kUninitialized);
  GIVES(ZE(zeInit)(4), kInvalidEnumeration);
  GIVES(ZE(zeInit)(kInitGpuOnly), kSuccess);
  GIVES(ZE(zeInit)(0), kSuccess);
  GIVES(ZE(zeDriverGet)(nullptr, nullptr), kInvalidNullPointer);
  const Driver driver = only_driver();
  // More asked for than there are.
  Driver two[2] = {};
  count = 2;
  GIVES(ZE(zeDriverGet)(&count, two), kSuccess);
  EXPECT(count == 1 && two[0] == driver && two[1] == nullptr);
}

CASE(initialization_by_type) {
  InitDriverTypeDesc desc;
  uint32_t count = 0;
  GIVES(ZE(zeInitDrivers)(&count, nullptr, nullptr), kInvalidNullPointer);
  GIVES(ZE(zeInitDrivers)(nullptr, nullptr, &desc), kInvalidNullPointer);
  desc.flags = 0;
  GIVES(ZE(zeInitDrivers)(&count, nullptr, &desc), kInvalidEnumeration);
  desc.flags = kDriverTypeNpu;
  GIVES(ZE(zeInitDrivers)(&count, nullptr, &desc), kSuccess);
  EXPECT(count == 0);
  desc.flags = UINT32_MAX;
  GIVES(ZE(zeInitDrivers)(&count, nullptr, &desc), kSuccess);
  EXPECT(count == 1);
  Driver driver = nullptr;
  GIVES(ZE(zeInitDrivers)(&count, &driver, &desc), kSuccess);
  EXPECT(driver == only_driver());
}

CASE(driver) {
  const Setup it;
  uint32_t version = 0;
  GIVES(ZE(zeDriverGetApiVersion)(it.driver, &version), kSuccess);
  EXPECT(version >= make_version(1, 4) && version < make_version(2, 0));
  DriverProperties properties;
  GIVES(ZE(zeDriverGetProperties)(it.driver, &properties), kSuccess);
  EXPECT(properties.driver_version != 0);
  DriverIpcProperties ipc;
  GIVES(ZE(zeDriverGetIpcProperties)(it.driver, &ipc), kSuccess);
  EXPECT(ipc.flags == kIpcMemory);

  uint32_t count = 0;
  GIVES(ZE(zeDriverGetExtensionProperties)(it.driver, &count, nullptr), kSuccess);
  EXPECT(count == 1);
  DriverExtensionProperties extension;
  GIVES(ZE(zeDriverGetExtensionProperties)(it.driver, &count, &extension), kSuccess);
  EXPECT(std::strcmp(extension.name, kSoftwareDriverExtension) == 0);
  void* function = nullptr;
  GIVES(ZE(zeDriverGetExtensionFunctionAddress)(it.driver, kSoftwareDriverFunction, &function), kSuccess);
  EXPECT(function != nullptr);
  GIVES(ZE(zeDriverGetExtensionFunctionAddress)(it.driver, "zexSomething", &function), kInvalidArgument);
  EXPECT(function == nullptr);
  EXPECT(symbol("usmIpcSoftwareDriverVersion") != nullptr);

  Context context = ZE(zeDriverGetDefaultContext)(it.driver);
  EXPECT(context != nullptr && context == ZE(zeDriverGetDefaultContext)(it.driver));
  EXPECT(ZE(zeDriverGetDefaultContext)(nullptr) == nullptr);
  GIVES(ZE(zeContextDestroy)(context), kInvalidArgument);

  GIVES(ZE(zeDriverGetApiVersion)(nullptr, &version), kInvalidNullHandle);
  GIVES(ZE(zeDriverGetApiVersion)(it.driver, nullptr), kInvalidNullPointer);
  GIVES(ZE(zeDriverGetProperties)(it.driver, nullptr), kInvalidNullPointer);
  // Handles of another kind.
  GIVES(ZE(zeDriverGetProperties)(reinterpret_cast<Driver>(it.device), &properties), kInvalidArgument);
  GIVES(ZE(zeContextDestroy)(reinterpret_cast<Context>(it.driver)), kInvalidArgument);
}

CASE(device) {
  const Setup it;
  DeviceIpVersionExt ip;
  BaseProperties unknown;
  unknown.stype = 0x7ffffff0;
  unknown.next = &ip;
  DeviceProperties properties;
  properties.next = &unknown;
  GIVES(ZE(zeDeviceGetProperties)(it.device, &properties), kSuccess);
  EXPECT(properties.next == &unknown && properties.stype == kDeviceProperties);
  EXPECT(properties.type == kDeviceGpu && properties.flags == 0);
  EXPECT(std::strcmp(properties.name, "usm-ipc software device 0 (Level Zero on the CPU)") == 0);
  EXPECT(properties.uuid.id[6] >> 4 == 8 && properties.uuid.id[8] >> 6 == 2);
  EXPECT(properties.timer_resolution == 1);
  EXPECT(ip.ip_version == 0x05004000);
  DeviceProperties newer;
  newer.stype = kDeviceProperties12;
  GIVES(ZE(zeDeviceGetProperties)(it.device, &newer), kSuccess);
  EXPECT(newer.timer_resolution == 1'000'000'000);

  CommandQueueGroupProperties group;
  uint32_t count = 1;
  GIVES(ZE(zeDeviceGetCommandQueueGroupProperties)(it.device, &count, &group), kSuccess);
  EXPECT(count == 1 && group.flags == (kQueueGroupCompute | kQueueGroupCopy) && group.num_queues == 1);
  DeviceMemoryProperties memory;
  GIVES(ZE(zeDeviceGetMemoryProperties)(it.device, &count, &memory), kSuccess);
  EXPECT(memory.total_size == properties.max_mem_alloc_size && memory.total_size > 0);
  DeviceMemoryAccessProperties access;
  GIVES(ZE(zeDeviceGetMemoryAccessProperties)(it.device, &access), kSuccess);
  EXPECT((access.device & kMemoryAccessRw) != 0 && access.shared_system == 0);
  DeviceComputeProperties compute;
  GIVES(ZE(zeDeviceGetComputeProperties)(it.device, &compute), kSuccess);
  DeviceModuleProperties modules;
  GIVES(ZE(zeDeviceGetModuleProperties)(it.device, &modules), kSuccess);
  EXPECT(modules.spirv_version_supported == 0);
  DeviceImageProperties images;
  GIVES(ZE(zeDeviceGetImageProperties)(it.device, &images), kSuccess);
  EXPECT(images.max_dims[0] == 0);
  DeviceExternalMemoryProperties external;
  GIVES(ZE(zeDeviceGetExternalMemoryProperties)(it.device, &external), kSuccess);
  EXPECT(external.memory_export_types == 0);
  DeviceCacheProperties cache;
  GIVES(ZE(zeDeviceGetCacheProperties)(it.device, &count, &cache), kSuccess);
  DeviceP2pProperties peers;
  GIVES(ZE(zeDeviceGetP2PProperties)(it.device, it.device, &peers), kSuccess);
  EXPECT(peers.flags == kDeviceP2pAccess);
  Bool can = 0;
  GIVES(ZE(zeDeviceCanAccessPeer)(it.device, it.device, &can), kSuccess);
  EXPECT(can == 1);
  GIVES(ZE(zeDeviceGetStatus)(it.device), kSuccess);
  uint64_t host = 0;
  uint64_t on_device = 0;
  GIVES(ZE(zeDeviceGetGlobalTimestamps)(it.device, &host, &on_device), kSuccess);
  EXPECT(host != 0 && host == on_device);
  Device root = it.device;
  GIVES(ZE(zeDeviceGetRootDevice)(it.device, &root), kSuccess);
  EXPECT(root == nullptr);
  GIVES(ZE(zeDeviceGetProperties)(nullptr, &properties), kInvalidNullHandle);
  GIVES(ZE(zeDeviceGetProperties)(it.device, nullptr), kInvalidNullPointer);
  GIVES(ZE(zeDeviceGetSubDevices)(it.device, nullptr, nullptr), kInvalidNullPointer);
}

CASE(contexts) {
  const Setup it;
  ContextDesc desc;
  Context context = nullptr;
  Device device = it.device;
  GIVES(ZE(zeContextCreateEx)(it.driver, &desc, 1, &device, &context), kSuccess);
  GIVES(ZE(zeContextGetStatus)(context), kSuccess);
  GIVES(ZE(zeContextSystemBarrier)(context, it.device), kSuccess);
  int byte = 0;
  GIVES(ZE(zeContextMakeMemoryResident)(context, it.device, &byte, 1), kSuccess);
  GIVES(ZE(zeContextEvictMemory)(context, it.device, &byte, 1), kSuccess);
  GIVES(ZE(zeContextMakeMemoryResident)(context, it.device, nullptr, 1), kInvalidNullPointer);
  GIVES(ZE(zeContextMakeMemoryResident)(context, it.device, &byte, 0), kInvalidSize);
  GIVES(ZE(zeContextDestroy)(context), kSuccess);
  GIVES(ZE(zeContextDestroy)(nullptr), kInvalidNullHandle);
  GIVES(ZE(zeContextCreate)(it.driver, nullptr, &context), kInvalidNullPointer);
  GIVES(ZE(zeContextCreate)(it.driver, &desc, nullptr), kInvalidNullPointer);
  GIVES(ZE(zeContextCreateEx)(it.driver, &desc, 1, nullptr, &context), kInvalidNullPointer);
  desc.flags = 2;
  GIVES(ZE(zeContextCreate)(it.driver, &desc, &context), kInvalidEnumeration);
}

// Prints the devices, one a line: name, flags, UUID, and its sub-devices behind a dash.
CASE(list_devices) {
  GIVES(ZE(zeInit)(0), kSuccess);
  const auto print = [](const char* before, Device device) {
    const DeviceProperties properties = properties_of(device);
    Device root = nullptr;
    GIVES(ZE(zeDeviceGetRootDevice)(device, &root), kSuccess);
    std::string name = properties.name;
    name = name.substr(std::strlen("usm-ipc software device "));
    std::printf("%s%s %s%s %s\n", before, name.substr(0, name.find(' ')).c_str(),
                (properties.flags & kDeviceSubdevice) != 0 ? "sub" : "root", root != nullptr ? " of" : "",
                hex(properties.uuid).c_str());
  };
  std::set<std::string> uuids;
  size_t count = 0;
  for (const Device device : devices_of(only_driver())) {
    print("", device);
    uuids.insert(hex(properties_of(device).uuid));
    count++;
    for (const Device sub : subdevices_of(device)) {
      print("- ", sub);
      uuids.insert(hex(properties_of(sub).uuid));
      count++;
      Device root = nullptr;
      GIVES(ZE(zeDeviceGetRootDevice)(sub, &root), kSuccess);
      EXPECT(root == device);
    }
  }
  EXPECT(uuids.size() == count);
}

// Nothing is visible, or the configuration makes no sense.
CASE(initialization_refused) {
  uint32_t count = 0;
  const Result result = ZE(zeInit)(0);
  EXPECT(result == kUninitialized || result == kInvalidArgument);
  GIVES(ZE(zeDriverGet)(&count, nullptr), kUninitialized);
  std::puts(ze_result_name(result));
}

int main(int count, char** arguments) { return run_cases(count, arguments); }
