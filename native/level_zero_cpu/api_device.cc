#include <algorithm>
#include <cstring>

#include "level_zero_cpu/devices.h"
#include "level_zero_cpu/entry_points.h"

namespace usm_ipc::ze {
namespace {

// Intel's: the SYCL runtime takes other vendors' devices for old ones.
constexpr uint32_t kVendor = 0x8086;

constexpr uint32_t kAllAccess =
    kMemoryAccessRw | kMemoryAccessAtomic | kMemoryAccessConcurrent | kMemoryAccessConcurrentAtomic;

void copy_name(char (&to)[kNameSize], const std::string& name) {
  std::memset(to, 0, sizeof to);
  std::memcpy(to, name.data(), std::min(name.size(), sizeof to - 1));
}

// What the caller has chained to a structure, in which those of a type that we know are filled.
void fill_extensions(void* next) {
  for (auto* it = static_cast<BaseProperties*>(next); it != nullptr; it = static_cast<BaseProperties*>(it->next)) {
    if (it->stype == kDeviceIpVersionExt) reinterpret_cast<DeviceIpVersionExt*>(it)->ip_version = config().ip_version;
  }
}

// Zero, of the caller's type and chain.
template <typename T>
T& cleared(T* properties) {
  T empty;
  empty.stype = required(properties).stype;
  empty.next = properties->next;
  return *properties = empty;
}

}  // namespace

USM_IPC_ZE_API Result zeDeviceGet(Driver handle, uint32_t* count, Device* out) {
  return entry("zeDeviceGet", Reach::host, [&] {
    object(handle);
    const auto& all = devices();
    enumerate(static_cast<uint32_t>(all.size()), count, out, [&](uint32_t i, Device& to) { to = all[i]; });
  });
}

USM_IPC_ZE_API Result zeDeviceGetRootDevice(Device handle, Device* root) {
  return entry("zeDeviceGetRootDevice", Reach::host, [&] { required(root) = object(handle).root; });
}

USM_IPC_ZE_API Result zeDeviceGetSubDevices(Device handle, uint32_t* count, Device* out) {
  return entry("zeDeviceGetSubDevices", Reach::host, [&] {
    const auto& all = object(handle).subdevices;
    enumerate(static_cast<uint32_t>(all.size()), count, out, [&](uint32_t i, Device& to) { to = all[i]; });
  });
}

USM_IPC_ZE_API Result zeDeviceGetProperties(Device handle, DeviceProperties* properties) {
  return entry("zeDeviceGetProperties", Reach::host, [&] {
    const DeviceHandle& device = object(handle);
    DeviceProperties& to = cleared(properties);
    to.type = kDeviceGpu;
    to.vendor_id = kVendor;
    to.flags = device.root != nullptr ? kDeviceSubdevice : 0;
    to.subdevice_id = device.root != nullptr ? device.index : 0;
    to.max_mem_alloc_size = device.memory->total;
    to.max_hardware_contexts = 1;
    to.num_threads_per_eu = 1;
    to.physical_eu_simd_width = 1;
    to.num_eus_per_subslice = 1;
    to.num_subslices_per_slice = 1;
    to.num_slices = 1;
    // Nanoseconds a tick; ticks a second for those who ask by the newer structure type.
    to.timer_resolution = to.stype == kDeviceProperties12 ? 1'000'000'000 : 1;
    to.timestamp_valid_bits = kTimestampBits;
    to.kernel_timestamp_valid_bits = kTimestampBits;
    to.uuid = device.uuid;
    copy_name(to.name, device.name);
    fill_extensions(to.next);
  });
}

// No kernels: the least that programs can divide by.
USM_IPC_ZE_API Result zeDeviceGetComputeProperties(Device handle, DeviceComputeProperties* properties) {
  return entry("zeDeviceGetComputeProperties", Reach::host, [&] {
    object(handle);
    DeviceComputeProperties& to = cleared(properties);
    to.max_total_group_size = 1;
    for (int i = 0; i < 3; i++) to.max_group_size[i] = to.max_group_count[i] = 1;
    to.num_sub_group_sizes = to.sub_group_sizes[0] = 1;
  });
}

// No kernels: no SPIR-V version, no floating-point types.
USM_IPC_ZE_API Result zeDeviceGetModuleProperties(Device handle, DeviceModuleProperties* properties) {
  return entry("zeDeviceGetModuleProperties", Reach::host, [&] {
    object(handle);
    cleared(properties);
  });
}

USM_IPC_ZE_API Result zeDeviceGetCommandQueueGroupProperties(Device handle, uint32_t* count,
                                                             CommandQueueGroupProperties* out) {
  return entry("zeDeviceGetCommandQueueGroupProperties", Reach::host, [&] {
    object(handle);
    enumerate(1, count, out, [](uint32_t, CommandQueueGroupProperties& to) {
      cleared(&to);
      to.flags = kQueueGroupCompute | kQueueGroupCopy;
      to.max_memory_fill_pattern_size = SIZE_MAX;
      to.num_queues = 1;
    });
  });
}

USM_IPC_ZE_API Result zeDeviceGetMemoryProperties(Device handle, uint32_t* count, DeviceMemoryProperties* out) {
  return entry("zeDeviceGetMemoryProperties", Reach::host, [&] {
    const DeviceHandle& device = object(handle);
    enumerate(1, count, out, [&](uint32_t, DeviceMemoryProperties& to) {
      cleared(&to);
      to.total_size = device.memory->total;
      copy_name(to.name, "memory files");
    });
  });
}

USM_IPC_ZE_API Result zeDeviceGetMemoryAccessProperties(Device handle, DeviceMemoryAccessProperties* properties) {
  return entry("zeDeviceGetMemoryAccessProperties", Reach::host, [&] {
    object(handle);
    DeviceMemoryAccessProperties& to = cleared(properties);
    to.host = to.device = to.shared_single_device = to.shared_cross_device = kAllAccess;
  });
}

USM_IPC_ZE_API Result zeDeviceGetCacheProperties(Device handle, uint32_t* count, DeviceCacheProperties* out) {
  return entry("zeDeviceGetCacheProperties", Reach::host, [&] {
    object(handle);
    enumerate(1, count, out, [](uint32_t, DeviceCacheProperties& to) { cleared(&to); });
  });
}

USM_IPC_ZE_API Result zeDeviceGetImageProperties(Device handle, DeviceImageProperties* properties) {
  return entry("zeDeviceGetImageProperties", Reach::host, [&] {
    object(handle);
    cleared(properties);
  });
}

USM_IPC_ZE_API Result zeDeviceGetExternalMemoryProperties(Device handle, DeviceExternalMemoryProperties* properties) {
  return entry("zeDeviceGetExternalMemoryProperties", Reach::host, [&] {
    object(handle);
    cleared(properties);
  });
}

USM_IPC_ZE_API Result zeDeviceGetP2PProperties(Device handle, Device peer, DeviceP2pProperties* properties) {
  return entry("zeDeviceGetP2PProperties", Reach::host, [&] {
    object(handle);
    object(peer);
    cleared(properties).flags = kDeviceP2pAccess;
  });
}

USM_IPC_ZE_API Result zeDeviceCanAccessPeer(Device handle, Device peer, Bool* can) {
  return entry("zeDeviceCanAccessPeer", Reach::host, [&] {
    object(handle);
    object(peer);
    required(can) = 1;
  });
}

USM_IPC_ZE_API Result zeDeviceGetStatus(Device handle) {
  return entry("zeDeviceGetStatus", Reach::device, [&] { object(handle); });
}

USM_IPC_ZE_API Result zeDeviceGetGlobalTimestamps(Device handle, uint64_t* host, uint64_t* device) {
  return entry("zeDeviceGetGlobalTimestamps", Reach::device, [&] {
    object(handle);
    required(host);
    required(device) = *host = timestamp();
  });
}

}  // namespace usm_ipc::ze
