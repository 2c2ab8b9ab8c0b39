// Calls that the environment makes fail, the lost device, and what the driver refuses.
#include "program.h"

using namespace usm_ipc::ze;

namespace {

struct Function {
  const char* name;
  bool served;
};

const Function kFunctions[] = {
#define USM_IPC_ZE_TABLE(group)
#define USM_IPC_ZE_SERVED(function, minor) {#function, true},
#define USM_IPC_ZE_REFUSED(function, minor) {#function, false},
#define USM_IPC_ZE_TABLE_END(group)
#include "level_zero_cpu/entry_points.def"
};

// Every argument null or zero, whatever the function takes.
Result call_with_nothing(const char* name) {
  using Nothing = Result(void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*);
  void* const zero = nullptr;
  return reinterpret_cast<Nothing*>(symbol(name))(zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero,
                                                  zero);
}

// Gives a handle.
bool gives_a_result(const char* name) { return std::strcmp(name, "zeDriverGetDefaultContext") != 0; }

}  // namespace

// For the test, which makes USM_IPC_ZE_FAULT of them.
CASE(names) {
  for (const Function& function : kFunctions) std::puts(function.name);
}

// Call 1 fails, and call 3, each function with a result of its own: 0x70000100 + its place, and 0x100 more.
CASE(every_function_fails) {
  Result place = 0x70000100;
  for (const Function& function : kFunctions) {
    const Result injected = place++;
    if (!gives_a_result(function.name)) continue;
    GIVES(call_with_nothing(function.name), injected);
    const Result second = call_with_nothing(function.name);
    if (second == injected) fail(__FILE__, __LINE__, std::string(function.name) + " failed twice");
    GIVES(call_with_nothing(function.name), injected + 0x1000);
  }
}

// No function does more with nothing than to say so.
CASE(null_arguments) {
  for (const Function& function : kFunctions) {
    if (!function.served || !gives_a_result(function.name)) continue;
    const Result result = call_with_nothing(function.name);
    const bool told = result == kInvalidNullHandle || result == kInvalidNullPointer || result == kInvalidSize ||
                      result == kUnsupportedSize ||
                      (result == kUninitialized && std::strcmp(function.name, "zeDriverGet") == 0) ||
                      (result == kSuccess && std::strcmp(function.name, "zeInit") == 0);
    if (!told) fail(__FILE__, __LINE__, std::string(function.name) + " gave " + ze_result_name(result));
  }
}

CASE(refused_by_name) {
  for (const Function& function : kFunctions) {
    if (!function.served) GIVES(call_with_nothing(function.name), kUnsupportedFeature);
  }
}

// Run with USM_IPC_ZE_FAULT=zeMemAllocDevice:*:0x70000003.
CASE(every_call_fails) {
  const Setup it;
  const DeviceMemAllocDesc desc;
  void* out = nullptr;
  for (int i = 0; i < 3; i++) {
    GIVES(ZE(zeMemAllocDevice)(it.context, &desc, 1, 0, it.device, &out), kOutOfDeviceMemory);
  }
  EXPECT(out == nullptr);
}

// Run with USM_IPC_ZE_LOST=zeMemGetIpcHandle:2. What gives back works on, and what does not ask the device.
CASE(device_lost) {
  Setup it;
  auto* const memory = it.allocate(100);
  const EventPool pool = it.pool(1);
  const Event event = it.event(pool);
  const CommandList list = it.immediate();
  IpcMemHandle handle;
  void* opened = nullptr;
  GIVES(ZE(zeMemGetIpcHandle)(it.context, memory, &handle), kSuccess);
  GIVES(ZE(zeMemOpenIpcHandle)(it.context, it.device, handle, 0, &opened), kSuccess);
  GIVES(ZE(zeDeviceGetStatus)(it.device), kSuccess);
  GIVES(ZE(zeMemGetIpcHandle)(it.context, memory, &handle), kDeviceLost);

  void* out = nullptr;
  const DeviceMemAllocDesc desc;
  GIVES(ZE(zeMemAllocDevice)(it.context, &desc, 1, 0, it.device, &out), kDeviceLost);
  GIVES(ZE(zeMemOpenIpcHandle)(it.context, it.device, handle, 0, &out), kDeviceLost);
  GIVES(ZE(zeCommandListAppendMemoryCopy)(list, memory, memory, 1, nullptr, 0, nullptr), kDeviceLost);
  GIVES(ZE(zeCommandListHostSynchronize)(list, kForever), kDeviceLost);
  GIVES(ZE(zeEventHostSynchronize)(event, kForever), kDeviceLost);
  GIVES(ZE(zeDeviceGetStatus)(it.device), kDeviceLost);
  GIVES(ZE(zeContextGetStatus)(it.context), kDeviceLost);

  DeviceProperties properties;
  GIVES(ZE(zeDeviceGetProperties)(it.device, &properties), kSuccess);
  GIVES(ZE(zeMemPutIpcHandle)(it.context, handle), kSuccess);
  GIVES(ZE(zeMemCloseIpcHandle)(it.context, opened), kSuccess);
  it.free(memory);
  GIVES(ZE(zeCommandListDestroy)(list), kSuccess);
  GIVES(ZE(zeEventDestroy)(event), kSuccess);
  GIVES(ZE(zeEventPoolDestroy)(pool), kSuccess);
}

// Run with USM_IPC_ZE_LOST=4: the context and three allocations.
CASE(device_lost_after_some_calls) {
  Setup it;
  const DeviceMemAllocDesc desc;
  void* out[3] = {};
  for (int i = 0; i < 2; i++) out[i] = it.allocate(1);
  DeviceProperties properties;
  GIVES(ZE(zeDeviceGetProperties)(it.device, &properties), kSuccess);
  GIVES(ZE(zeMemAllocDevice)(it.context, &desc, 1, 0, it.device, &out[2]), kDeviceLost);
  for (int i = 0; i < 2; i++) it.free(out[i]);
}

int main(int count, char** arguments) { return run_cases(count, arguments); }
