#include "backends/level_zero_api.h"

#include <dlfcn.h>

#include "level_zero/results.h"
#include "runtime_choice.h"

namespace usm_ipc {
namespace {

struct Loaded {
  LevelZeroApi api;
  std::string why;  // not: ""
};

template <typename Function>
void find(void* loader, const char* name, Function*& function, std::string& missing) {
  function = reinterpret_cast<Function*>(::dlsym(loader, name));
  if (function == nullptr) missing += std::string(missing.empty() ? "" : ", ") + name;
}

Loaded load() {
  Loaded loaded;
  void* const loader = level_zero_loader(loaded.why);
  if (loader == nullptr) return loaded;
  std::string missing;
#define USM_IPC_FIND(name) find(loader, #name, loaded.api.name, missing);
  USM_IPC_LEVEL_ZERO_FUNCTIONS(USM_IPC_FIND)
#undef USM_IPC_FIND
  std::string optional;
  find(loader, "zeMemPutIpcHandle", loaded.api.zeMemPutIpcHandle, optional);
  loaded.why = missing.empty() ? "" : "the Level Zero loader has no " + missing + "; install a newer one";
  return loaded;
}

const char* advice_for(ze::Result result) {
  switch (result) {
    case ze::kDeviceLost: return "the device is lost to this process: end it, and start again";
    case ze::kOutOfDeviceMemory: return "the device has not this much memory free";
    case ze::kUnsupportedSize: return "the device does not allocate this much at once";
    default: return "";
  }
}

}  // namespace

const LevelZeroApi& level_zero_api() {
  static const auto* const loaded = new Loaded(load());  // never destroyed: threads may outlive static destruction
  if (!loaded->why.empty()) throw Failure(FailureKind::state, "no-loader", loaded->why);
  return loaded->api;
}

void require(const char* call, ze::Result result, const std::string& advice) {
  if (result == ze::kSuccess) return;
  const std::string own = advice_for(result);
  throw driver_failure("level_zero", call, ze_result_name(result), result, own.empty() ? advice : own);
}

Failure level_zero_failure(const char* call, const char* reason, const std::string& message) {
  Failure failure(FailureKind::driver, reason, message);
  failure.backend = "level_zero";
  failure.call = call;
  failure.result = reason;
  return failure;
}

}  // namespace usm_ipc
