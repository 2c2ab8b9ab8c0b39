#include "backends/level_zero_memory.h"

#include <cstring>
#include <string>

#include "failure.h"

namespace usm_ipc {
namespace {

Failure null_result(const char* call, const char* what) {
  return level_zero_failure(call, "null-result", std::string(call) + " gave no " + what + ", and no error");
}

// What the driver opened must be what was asked for, or copies to it would go elsewhere.
void check_owner(const LevelZeroDevice& device, const void* pointer) {
  const char* const call = "zeMemGetAllocProperties";
  const MemoryOwner owner = owner_of(device.context, pointer);
  if (owner.type != ze::kMemoryDevice) {
    throw level_zero_failure(call, "not-device-memory",
                             "the driver opened the handle, but says that it is memory of type " +
                                 std::to_string(owner.type) + ", not of a device");
  }
  if (!device.is_or_has(owner.device)) {
    throw level_zero_failure(call, "wrong-device",
                             "the driver opened the handle on another device than was asked for");
  }
}

}  // namespace

void* allocate_usm(const LevelZeroDevice& device, UsmType usm, uint64_t nbytes) {
  const LevelZeroApi& api = level_zero_api();
  DriverPointer memory(api.zeMemFree, device.context);
  const ze::DeviceMemAllocDesc on_device;
  const ze::HostMemAllocDesc on_host;
  const char* call = "";
  ze::Result result = ze::kSuccess;
  switch (usm) {
    case UsmType::device:
      call = "zeMemAllocDevice";
      result = api.zeMemAllocDevice(device.context, &on_device, nbytes, 0, device.device, memory.out());
      break;
    case UsmType::host:
      call = "zeMemAllocHost";
      result = api.zeMemAllocHost(device.context, &on_host, nbytes, 0, memory.out());
      break;
    case UsmType::shared:
      call = "zeMemAllocShared";
      result = api.zeMemAllocShared(device.context, &on_device, &on_host, nbytes, 0, device.device, memory.out());
      break;
  }
  require(call, result);
  if (memory.get() == nullptr) throw null_result(call, "memory");
  return memory.release();
}

ze::IpcMemHandle get_handle(ze::Context context, const void* pointer) {
  const char* const call = "zeMemGetIpcHandle";
  ze::IpcMemHandle handle{};
  require(call, level_zero_api().zeMemGetIpcHandle(context, pointer, &handle));
  const ze::IpcMemHandle empty{};
  if (std::memcmp(&handle, &empty, sizeof handle) == 0) throw null_result(call, "handle");
  return handle;
}

void put_handle(ze::Context context, const ze::IpcMemHandle& handle) noexcept {
  const auto put = level_zero_api().zeMemPutIpcHandle;
  if (put != nullptr) put(context, handle);
}

LevelZeroForm form_of(LevelZeroDevice& device) {
  std::lock_guard<std::mutex> lock(device.mutex);
  if (device.form_known) return device.form;
  DriverPointer probe(level_zero_api().zeMemFree, device.context);
  *probe.out() = allocate_usm(device, UsmType::device, 1);
  const ze::IpcMemHandle handle = get_handle(device.context, probe.get());
  put_handle(device.context, handle);
  device.form = form_of_own_handle(handle.data);
  device.form_known = true;
  return device.form;
}

MemoryOwner owner_of(ze::Context context, const void* pointer) {
  ze::MemoryAllocationProperties properties;
  MemoryOwner owner{};
  require("zeMemGetAllocProperties",
          level_zero_api().zeMemGetAllocProperties(context, pointer, &properties, &owner.device));
  owner.type = properties.type;
  return owner;
}

Extent range_of(ze::Context context, const void* pointer) {
  void* base = nullptr;
  size_t nbytes = 0;
  require("zeMemGetAddressRange", level_zero_api().zeMemGetAddressRange(context, pointer, &base, &nbytes));
  return {base, nbytes};
}

uint64_t bytes_from(const Extent& extent, const void* pointer) {
  const auto start = reinterpret_cast<uintptr_t>(extent.base);
  const auto at = reinterpret_cast<uintptr_t>(pointer);
  return at < start || at - start >= extent.nbytes ? 0 : extent.nbytes - (at - start);
}

void* open_handle(const LevelZeroDevice& device, const ze::IpcMemHandle& handle, const char* advice) {
  const LevelZeroApi& api = level_zero_api();
  const char* const call = "zeMemOpenIpcHandle";
  DriverPointer opened(api.zeMemCloseIpcHandle, device.context);
  require(call, api.zeMemOpenIpcHandle(device.context, device.device, handle, 0, opened.out()), advice);
  if (opened.get() == nullptr) throw null_result(call, "address");
  check_owner(device, opened.get());
  return opened.release();
}

}  // namespace usm_ipc
