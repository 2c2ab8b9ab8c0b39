#include "backends/cuda_api.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>

namespace usm_ipc {
namespace {

constexpr char kLibrary[] = "libcuda.so.1";

template <typename Function>
void find(void* library, const char* name, Function*& function, std::string& missing) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) missing += std::string(missing.empty() ? "" : ", ") + name;
}

[[noreturn]] void no_driver(const std::string& why) { throw Failure(FailureKind::state, "no-driver", why); }

// A library that does not do stays loaded: unloading is nothing that drivers expect.
CudaApi load() {
  const char* const asked = std::getenv("USM_IPC_CUDA_DRIVER");
  const std::string path = asked == nullptr || *asked == '\0' ? kLibrary : asked;
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = ::dlerror();
    no_driver(std::string("there is no CUDA driver (") + (error == nullptr ? path : error) +
              "); install NVIDIA's driver; in a container use its container toolkit (docker run --gpus all)");
  }
  CudaApi api;
  std::string missing;
#define USM_IPC_FIND(name) find(library, #name, api.name, missing);
  USM_IPC_CUDA_FUNCTIONS(USM_IPC_FIND)
#undef USM_IPC_FIND
  if (!missing.empty()) {
    no_driver(path + " has no " + missing +
              ": it is a stub or too old; install NVIDIA's driver of CUDA 11.4 or newer");
  }
  api.cuCtxGetId = reinterpret_cast<cu::functions::cuCtxGetId*>(::dlsym(library, "cuCtxGetId"));
  api.software = ::dlsym(library, "usm_ipc_software_cuda") != nullptr;
  return api;
}

const char* advice_for(cu::Result result) {
  switch (result) {
    case cu::kOutOfMemory: return "the device has not this much memory free";
    case cu::kNotInitialized:
    case cu::kDeinitialized: return "the process was forked after CUDA had been used, or is ending; start it with exec";
    case cu::kNoDevice: return "there is no CUDA device, or CUDA_VISIBLE_DEVICES hides them";
    case cu::kContextIsDestroyed:
      return "the device's primary context was reset (cudaDeviceReset), and its memory is gone; allocate anew";
    case cu::kSystemDriverMismatch:
    case cu::kCompatNotSupportedOnDevice: return "the driver library and the kernel's driver do not fit together";
    case cu::kEccUncorrectable:
    case cu::kIllegalAddress:
    case cu::kLaunchTimeout:
    case cu::kLaunchFailed: return "the process's CUDA context is lost: end it, and start again";
    default: return "";
  }
}

void initialize(const CudaApi& api) {
  const cu::Result result = api.cuInit(0);
  if (result == cu::kSuccess) return;
  const char* name = nullptr;
  api.cuGetErrorName(result, &name);
  throw driver_failure("cuda", "cuInit", name == nullptr ? "unknown" : name, result, advice_for(result));
}

struct Driver {
  std::mutex mutex;
  std::unique_ptr<const CudaApi> loaded;
  std::atomic<const CudaApi*> initialized{nullptr};
};

}  // namespace

const CudaApi& cuda() {
  static auto* const driver = new Driver;  // never destroyed: threads may outlive static destruction
  if (const CudaApi* const api = driver->initialized.load(std::memory_order_acquire)) return *api;
  std::lock_guard<std::mutex> lock(driver->mutex);
  if (driver->loaded == nullptr) driver->loaded = std::make_unique<const CudaApi>(load());
  initialize(*driver->loaded);
  driver->initialized.store(driver->loaded.get(), std::memory_order_release);
  return *driver->loaded;
}

std::string cuda_result_name(cu::Result result) {
  const char* name = nullptr;
  const bool is_known = cuda().cuGetErrorName(result, &name) == cu::kSuccess && name != nullptr;
  return is_known ? name : "CUDA_ERROR_" + std::to_string(result);
}

void require_cuda(const char* call, cu::Result result, const std::string& advice) {
  if (result == cu::kSuccess) return;
  // What the result says of itself, of a lost context for one, goes before what the call says of its arguments.
  const std::string own = advice_for(result);
  throw driver_failure("cuda", call, cuda_result_name(result).c_str(), result, own.empty() ? advice : own);
}

Failure cuda_failure(const char* call, const char* reason, const std::string& message) {
  Failure failure(FailureKind::driver, reason, message);
  failure.backend = "cuda";
  failure.call = call;
  failure.result = reason;
  return failure;
}

}  // namespace usm_ipc
