#include "runtime_choice.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>

namespace usm_ipc {
namespace {

constexpr char kLoader[] = "libze_loader.so.1";
constexpr char kSoftware[] = "USM_IPC_SOFTWARE_DRIVER";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string choose() {
  std::string folder;
  if (variable(kSoftware) == "1") {
    folder = addon_folder() + "/software-driver";
    ::setenv("ZEL_LIBRARY_PATH", folder.c_str(), 1);
  }
  // Adapter v1 takes any value for yes, adapter v2 a 1: who says 0 gets what that says from both.
  if (variable("UR_L0_DISABLE_USM_ALLOCATOR") == "0") ::unsetenv("UR_L0_DISABLE_USM_ALLOCATOR");
  else ::setenv("UR_L0_DISABLE_USM_ALLOCATOR", "1", 0);
  // Standard output is for the program's own results.
  std::string log = variable("UMF_LOG");
  const std::string to_stdout = "output:stdout";
  if (const size_t at = log.find(to_stdout); at != std::string::npos) {
    ::setenv("UMF_LOG", log.replace(at, to_stdout.size(), "output:stderr").c_str(), 1);
  }
  ::setenv("UMF_MAX_OPENED_IPC_HANDLES", std::to_string(kMaxCachedMappings).c_str(), 0);
  return folder;
}

std::string path_of(void* library) {
  link_map* map = nullptr;
  return ::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : "";
}

std::string last_error() {
  const char* const error = ::dlerror();
  return error == nullptr ? "dlopen failed" : error;
}

// Whether something else in this process has loaded a loader: there can be no second.
bool is_another(const std::string& path) {
  void* const loaded = ::dlopen(kLoader, RTLD_NOW | RTLD_NOLOAD);
  if (loaded == nullptr) return false;
  void* const same = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (same != nullptr) ::dlclose(same);
  const bool another = same != loaded;
  ::dlclose(loaded);
  return another;
}

struct Loader {
  void* library = nullptr;
  std::string why;
};

Loader load() {
  Loader loader;
  const std::string& software = software_driver();
  const std::string asked = variable(kSoftware);
  if (!asked.empty() && asked != "0" && asked != "1") {
    loader.why = std::string(kSoftware) + " takes 1 or 0, not \"" + asked + "\"";
    return loader;
  }
  const std::string folder = software.empty() ? variable("ZEL_LIBRARY_PATH") : software;
  const std::string path = folder.empty() ? kLoader : folder + "/" + kLoader;
  if (!folder.empty() && is_another(path)) {
    void* const other = ::dlopen(kLoader, RTLD_NOW | RTLD_NOLOAD);
    loader.why = "this process has loaded " + path_of(other) + " already, and it can have one Level Zero loader only";
    ::dlclose(other);
    return loader;
  }
  loader.library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loader.library != nullptr) return loader;
  loader.why = "there is no Level Zero loader (" + last_error() + "); ";
  loader.why += software.empty()
                    ? "install it (the package libze1, level-zero or oneapi-level-zero) and the GPU's driver, or set "
                      "USM_IPC_SOFTWARE_DRIVER=1 for the software driver"
                    : "build the software driver with the addon: `npm run build:addon`";
  return loader;
}

}  // namespace

std::string addon_folder() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<void*>(&addon_folder), &info) == 0 || info.dli_fname == nullptr) return ".";
  char* const real = ::realpath(info.dli_fname, nullptr);
  const std::string path = real == nullptr ? info.dli_fname : real;
  std::free(real);
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

const std::string& software_driver() {
  // Never destroyed: threads may outlive static destruction.
  static const auto* const folder = new std::string(choose());
  return *folder;
}

void* level_zero_loader(std::string& why) {
  static const auto* const loader = new Loader(load());
  why = loader->why;
  return loader->library;
}

}  // namespace usm_ipc
