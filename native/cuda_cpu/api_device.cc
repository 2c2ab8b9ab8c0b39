// Initialization, devices, contexts.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "cuda_cpu/driver.h"
#include "cuda_cpu/entry.h"
#include "cuda_cpu/process_boot_id.h"

using namespace usm_ipc::cuda_cpu;

namespace {

const char* variable(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

// The same on this machine until it is started anew, as a GPU's is for ever.
usm_ipc::cu::Uuid uuid_of(int number) {
  usm_ipc::cu::Uuid uuid{};
  boot_id(uuid.bytes);
  uuid.bytes[0] = static_cast<char>(0xcd);
  uuid.bytes[15] = static_cast<char>(uuid.bytes[15] ^ number);
  return uuid;
}

std::string text_of(const usm_ipc::cu::Uuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; i++) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

// CUDA_VISIBLE_DEVICES: numbers or UUIDs in the order that the process wants, up to the first that names no device.
std::vector<int> visible(int count) {
  std::vector<int> numbers;
  const char* const given = std::getenv("CUDA_VISIBLE_DEVICES");
  if (given == nullptr) {
    for (int i = 0; i < count; i++) numbers.push_back(i);
    return numbers;
  }
  std::istringstream parts(given);
  for (std::string part; std::getline(parts, part, ',');) {
    int number = -1;
    for (int i = 0; i < count; i++) {
      if (part == std::to_string(i) || part == text_of(uuid_of(i))) number = i;
    }
    if (number < 0) break;
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

CUDA_CALL(cuInit, unsigned flags) {
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (flags != 0) return kInvalidValue;
  if (driver.initialized) return driver.process == ::getpid() ? kSuccess : kNotInitialized;
  set_failures(driver, variable("USM_IPC_CUDA_SW_FAIL", ""));
  const int count = std::clamp(std::atoi(variable("USM_IPC_CUDA_SW_DEVICES", "1")), 0, 4);
  const uint64_t memory = std::strtoull(variable("USM_IPC_CUDA_SW_MEMORY", "1073741824"), nullptr, 10);
  const std::vector<int> numbers = visible(count);
  if (numbers.empty()) return kNoDevice;
  driver.devices.resize(numbers.size());
  for (size_t i = 0; i < numbers.size(); i++) {
    driver.devices[i].number = numbers[i];
    driver.devices[i].uuid = uuid_of(numbers[i]);
    driver.devices[i].memory = memory;
    driver.devices[i].context.device = static_cast<int>(i);
  }
  driver.process = ::getpid();
  driver.initialized = true;
  return enter("cuInit");
}

CUDA_CALL(cuDriverGetVersion, int* version) {
  *version = 13000;
  return kSuccess;
}

CUDA_CALL(cuDeviceGetCount, int* count) {
  ENTER(cuDeviceGetCount);
  *count = static_cast<int>(Driver::instance().devices.size());
  return kSuccess;
}

namespace {
bool is_device(Device device) { return device >= 0 && device < static_cast<int>(Driver::instance().devices.size()); }
}  // namespace

CUDA_CALL(cuDeviceGet, Device* device, int ordinal) {
  ENTER(cuDeviceGet);
  if (!is_device(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

CUDA_CALL(cuDeviceGetName, char* name, int size, Device device) {
  ENTER(cuDeviceGetName);
  if (!is_device(device)) return kInvalidDevice;
  std::snprintf(name, static_cast<size_t>(size), "usm-ipc software CUDA device");
  return kSuccess;
}

CUDA_CALL(cuDeviceGetUuid_v2, Uuid* uuid, Device device) {
  ENTER(cuDeviceGetUuid_v2);
  if (!is_device(device)) return kInvalidDevice;
  *uuid = Driver::instance().devices[device].uuid;
  return kSuccess;
}

CUDA_CALL(cuDeviceTotalMem_v2, size_t* bytes, Device device) {
  ENTER(cuDeviceTotalMem_v2);
  if (!is_device(device)) return kInvalidDevice;
  *bytes = Driver::instance().devices[device].memory;
  return kSuccess;
}

CUDA_CALL(cuDeviceGetAttribute, int* value, DeviceAttribute attribute, Device device) {
  ENTER(cuDeviceGetAttribute);
  if (!is_device(device)) return kInvalidDevice;
  *value = attribute == kDeviceMemPoolHandleTypes ? static_cast<int>(kMemHandlePosixFd) : attribute == kDeviceIntegrated ? 0 : 1;
  return kSuccess;
}

CUDA_CALL(cuDevicePrimaryCtxRetain, Context* context, Device device) {
  ENTER(cuDevicePrimaryCtxRetain);
  if (!is_device(device)) return kInvalidDevice;
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  driver.devices[device].context.alive = true;
  *context = &driver.devices[device].context;
  return kSuccess;
}

CUDA_CALL(cuDevicePrimaryCtxReset_v2, Device device) {
  ENTER(cuDevicePrimaryCtxReset_v2);
  if (!is_device(device)) return kInvalidDevice;
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  driver.devices[device].context.alive = false;
  free_everything(device);
  return kSuccess;
}

CUDA_CALL(cuCtxGetCurrent, Context* context) {
  ENTER(cuCtxGetCurrent);
  *context = current_context();
  return kSuccess;
}

CUDA_CALL(cuCtxSetCurrent, Context context) {
  ENTER(cuCtxSetCurrent);
  pop_context();
  if (context != nullptr) push_context(context);
  return kSuccess;
}

CUDA_CALL(cuCtxPushCurrent_v2, Context context) {
  ENTER(cuCtxPushCurrent_v2);
  if (context == nullptr) return kInvalidContext;
  push_context(context);
  return kSuccess;
}

CUDA_CALL(cuCtxPopCurrent_v2, Context* context) {
  ENTER(cuCtxPopCurrent_v2);
  *context = pop_context();
  return *context == nullptr ? kInvalidContext : kSuccess;
}

CUDA_CALL(cuCtxSynchronize) {
  ENTER_IN_CONTEXT(cuCtxSynchronize);
  wait_for_all();
  return kSuccess;
}

CUDA_CALL(cuGetErrorName, Result error, const char** name) {
  switch (error) {
#define NAME(value, text) case value: *name = text; return kSuccess;
    NAME(kSuccess, "CUDA_SUCCESS")
    NAME(kInvalidValue, "CUDA_ERROR_INVALID_VALUE")
    NAME(kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY")
    NAME(kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED")
    NAME(kNoDevice, "CUDA_ERROR_NO_DEVICE")
    NAME(kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE")
    NAME(kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT")
    NAME(kMapFailed, "CUDA_ERROR_MAP_FAILED")
    NAME(kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE")
    NAME(kNotFound, "CUDA_ERROR_NOT_FOUND")
    NAME(kNotReady, "CUDA_ERROR_NOT_READY")
    NAME(kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS")
    NAME(kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED")
    NAME(kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED")
    NAME(kNotSupported, "CUDA_ERROR_NOT_SUPPORTED")
    NAME(kUnknown, "CUDA_ERROR_UNKNOWN")
#undef NAME
    default: *name = nullptr; return kInvalidValue;
  }
}
