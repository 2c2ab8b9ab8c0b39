// Initialization and devices.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cuda_cpu/driver.h"
#include "cuda_cpu/entry.h"
#include "cuda_cpu/visible_devices.h"

using namespace usm_ipc::cuda_cpu;

namespace {

const char* variable(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

// Which devices there are, or why none.
Result find_devices(Driver& driver) {
  const int count = std::clamp(std::atoi(variable("USM_IPC_CUDA_SW_DEVICES", "1")), 0, 4);
  const uint64_t memory = std::strtoull(variable("USM_IPC_CUDA_SW_MEMORY", "1073741824"), nullptr, 10);
  for (const int number : visible_devices(count)) {
    PhysicalDevice& device = driver.devices.emplace_back();
    device.number = number;
    device.uuid = uuid_of(number);
    device.memory = memory;
    device.context.device = static_cast<int>(driver.devices.size()) - 1;
  }
  return driver.devices.empty() ? kNoDevice : kSuccess;
}

}  // namespace

CUDA_CALL(cuInit, unsigned flags) {
  Driver& driver = Driver::instance();
  const int process = driver.process;
  if (process != 0) return process == ::getpid() ? kSuccess : kNotInitialized;
  Lock lock(driver.mutex);
  if (flags != 0) return kInvalidValue;
  if (driver.process != 0) return kSuccess;
  if (const Result result = find_devices(driver); result != kSuccess) return result;
  set_failures(variable("USM_IPC_CUDA_SW_FAIL", ""));
  driver.process = ::getpid();
  return enter("cuInit");
}

CUDA_CALL(cuDriverGetVersion, int* version) {
  if (version == nullptr) return kInvalidValue;
  *version = 13000;
  return kSuccess;
}

CUDA_CALL(cuDeviceGetCount, int* count) {
  ENTER(cuDeviceGetCount);
  if (count == nullptr) return kInvalidValue;
  *count = static_cast<int>(Driver::instance().devices.size());
  return kSuccess;
}

CUDA_CALL(cuDeviceGet, Device* device, int ordinal) {
  ENTER(cuDeviceGet);
  if (device == nullptr) return kInvalidValue;
  if (!Driver::instance().is_device(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

CUDA_CALL(cuDeviceGetName, char* name, int size, Device device) {
  ENTER(cuDeviceGetName);
  if (name == nullptr || size <= 0) return kInvalidValue;
  if (!Driver::instance().is_device(device)) return kInvalidDevice;
  std::snprintf(name, static_cast<size_t>(size), "usm-ipc software CUDA device");
  return kSuccess;
}

CUDA_CALL(cuDeviceGetUuid, Uuid* uuid, Device device) {
  ENTER(cuDeviceGetUuid);
  if (uuid == nullptr) return kInvalidValue;
  if (!Driver::instance().is_device(device)) return kInvalidDevice;
  *uuid = Driver::instance().devices[device].uuid;
  return kSuccess;
}

CUDA_CALL(cuDeviceGetUuid_v2, Uuid* uuid, Device device) {
  ENTER(cuDeviceGetUuid_v2);
  if (uuid == nullptr) return kInvalidValue;
  if (!Driver::instance().is_device(device)) return kInvalidDevice;
  *uuid = Driver::instance().devices[device].uuid;
  return kSuccess;
}

CUDA_CALL(cuDeviceTotalMem_v2, size_t* bytes, Device device) {
  ENTER(cuDeviceTotalMem_v2);
  if (bytes == nullptr) return kInvalidValue;
  if (!Driver::instance().is_device(device)) return kInvalidDevice;
  *bytes = Driver::instance().devices[device].memory;
  return kSuccess;
}

// It can whatever can be asked for.
CUDA_CALL(cuDeviceGetAttribute, int* value, DeviceAttribute attribute, Device device) {
  ENTER(cuDeviceGetAttribute);
  if (value == nullptr || attribute == 0) return kInvalidValue;
  if (!Driver::instance().is_device(device)) return kInvalidDevice;
  switch (attribute) {
    case kDeviceIntegrated: *value = 0; break;
    case kDeviceMemPoolHandleTypes: *value = static_cast<int>(kMemHandlePosixFd); break;
    default: *value = 1;
  }
  return kSuccess;
}

CUDA_CALL(cuDeviceCanAccessPeer, int* can, Device device, Device peer) {
  ENTER(cuDeviceCanAccessPeer);
  const Driver& driver = Driver::instance();
  if (can == nullptr) return kInvalidValue;
  if (!driver.is_device(device) || !driver.is_device(peer)) return kInvalidDevice;
  *can = device == peer ? 0 : 1;
  return kSuccess;
}
