#include "backends/sycl_runtime.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include "runtime_choice.h"

namespace usm_ipc {
namespace {

constexpr char kRuntime[] = "libsycl.so.9";
constexpr char kLibrary[] = "libusm_ipc_sycl.so";
constexpr char kWaysToGetIt[] =
    "install it with `pip install intel-sycl-rt==2026.2.0` in a virtual environment and activate that, set "
    "USM_IPC_SYCL to the folder that holds lib/libsycl.so.9, or run `npm run setup:sycl && npm run build:sycl` in a "
    "checkout of usm-ipc";

void* load(const std::string& path) { return ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }
bool exists(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }
std::string last_dl_error() {
  const char* const error = ::dlerror();
  return error == nullptr ? "unknown error" : error;
}

void add(std::vector<std::string>& folders, const char* variable, const std::string& below) {
  const char* const value = std::getenv(variable);
  if (value != nullptr && *value != 0) folders.push_back(value + below);
}

// In the order in which they are tried.
std::vector<std::string> runtime_folders() {
  std::vector<std::string> folders;
  add(folders, "USM_IPC_SYCL", "/lib");
  add(folders, "USM_IPC_SYCL", "");
  add(folders, "VIRTUAL_ENV", "/lib");
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const bool has_cache = cache != nullptr && *cache != 0;
  add(folders, has_cache ? "XDG_CACHE_HOME" : "HOME",
      std::string(has_cache ? "" : "/.cache") + "/usm-ipc/intel-sycl-rt-2026.2.0/lib");
  add(folders, "CMPLR_ROOT", "/lib");
  add(folders, "ONEAPI_ROOT", "/compiler/latest/lib");
  folders.push_back("/opt/intel/oneapi/compiler/latest/lib");
  return folders;
}

// A runtime that the process has already is the one: two would not share their memory's books.
std::string load_runtime() {
  // Without it the runtime loops for ever.
  if (!exists("/proc/self/maps")) return "the SYCL runtime needs /proc, which is not mounted here";
  if (::dlopen(kRuntime, RTLD_NOLOAD | RTLD_NOW) != nullptr) return "";
  const char* const chosen = std::getenv("USM_IPC_SYCL");
  if (chosen != nullptr && *chosen != 0) {
    const std::string folder = chosen;
    if (!exists(folder + "/lib/" + kRuntime) && !exists(folder + "/" + kRuntime)) {
      return "USM_IPC_SYCL names " + folder + ", where there is no " + kRuntime + " (nor in lib below it)";
    }
  }
  for (const std::string& folder : runtime_folders()) {
    const std::string path = folder + "/" + kRuntime;
    if (!exists(path)) continue;
    return load(path) != nullptr ? "" : "the SYCL runtime cannot be loaded: " + last_dl_error();
  }
  if (load(kRuntime) != nullptr) return "";
  return std::string("the SYCL runtime (") + kRuntime + ") is not found: " + kWaysToGetIt;
}

// A loader without zeInitDrivers crashes the runtime's adapters instead of being refused by them.
std::string check_loader() {
  std::string why;
  void* const loader = level_zero_loader(why);
  if (loader == nullptr) return why;
  if (::dlsym(loader, "zeInitDrivers") != nullptr) return "";
  return "the Level Zero loader (libze_loader.so.1) is too old for the SYCL runtime: it needs 1.20 or newer "
         "(https://github.com/oneapi-src/level-zero/releases), Debian 12 has 1.8; USM_IPC_SOFTWARE_DRIVER=1 brings a "
         "software one that needs no hardware";
}

std::string load_library(SyclLibrary& library) {
  const std::string path = addon_folder() + "/" + kLibrary;
  if (!exists(path)) {
    return std::string(kLibrary) +
           " is not built: run `npm run setup:sycl && npm run build:sycl` in a checkout of usm-ipc";
  }
  void* const handle = load(path);
  if (handle == nullptr) return std::string(kLibrary) + " cannot be loaded: " + last_dl_error();
#define USM_IPC_SYCL_LOOK_UP(name)                                                                     \
  library.name = reinterpret_cast<decltype(library.name)>(::dlsym(handle, "usm_ipc_sycl_" #name));     \
  if (library.name == nullptr) return path + " has no usm_ipc_sycl_" #name ": build it again with `npm run build:sycl`";
  USM_IPC_SYCL_FUNCTIONS(USM_IPC_SYCL_LOOK_UP)
#undef USM_IPC_SYCL_LOOK_UP
  if (library.abi_version() != USM_IPC_SYCL_ABI_VERSION) {
    return path + " has version " + std::to_string(library.abi_version()) + " of its interface, this addon needs " +
           std::to_string(USM_IPC_SYCL_ABI_VERSION) + ": build it again with `npm run build:sycl`";
  }
  return "";
}

std::string check_devices(const SyclLibrary& library) {
  uint32_t count = 0;
  if (library.device_count(&count) != 0) {
    const usm_ipc_sycl_error& error = *library.last_error();
    return std::string("the SYCL runtime lists no devices: ") + error.call + " failed: " + error.result_name + ": " +
           error.message;
  }
  if (count > 0) return "";
  if (!software_driver().empty()) {
    return "the SYCL runtime finds no device of the software driver: does ONEAPI_DEVICE_SELECTOR or ZE_AFFINITY_MASK "
           "leave one? The driver says on standard error which of its variables it refuses";
  }
  return "the SYCL runtime finds no Level Zero device (is there an Intel GPU with its driver, and does "
         "ONEAPI_DEVICE_SELECTOR allow it?); USM_IPC_SOFTWARE_DRIVER=1 brings one that needs no hardware";
}

// What is missing may be brought; what has been loaded is not started twice, as some runtimes crash there.
struct Loading {
  SyclLibrary library;
  std::string why;
  bool started = false;

  void attempt() {
    why = check_loader();
    if (why.empty()) why = load_runtime();
    if (why.empty()) why = load_library(library);
    started = why.empty();
    if (!started) return;
    library.redirect_stdout();
    why = check_devices(library);
  }
};

}  // namespace

const SyclLibrary* sycl_library(std::string& why) {
  static std::mutex mutex;
  static auto* const loading = new Loading;  // never destroyed, as the registry is not
  const std::lock_guard<std::mutex> lock(mutex);
  if (!loading->started) loading->attempt();
  why = loading->why;
  return why.empty() ? &loading->library : nullptr;
}

Failure sycl_failure(const SyclLibrary& library, const std::string& advice) {
  const usm_ipc_sycl_error& error = *library.last_error();
  std::string more = error.message;
  if (!advice.empty()) more += "; " + advice;
  return driver_failure("sycl", error.call, error.result_name, error.result, more);
}

}  // namespace usm_ipc
