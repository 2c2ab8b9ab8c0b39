// What SYCL has no question for, asked of the Level Zero loader that the runtime has loaded.
#include <dlfcn.h>

#include <string>
#include <sycl/backend.hpp>

#include "devices.h"
#include "level_zero/abi.h"
#include "level_zero/results.h"
#include "references.h"

namespace usm_ipc::sycl_library {
namespace {

template <class Function>
Function* look_up(const char* name) {
  static void* const loader = ::dlopen("libze_loader.so.1", RTLD_NOLOAD | RTLD_LAZY);
  return loader == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(loader, name));
}

}  // namespace

bool is_software(const sycl::device& device) {
  using Ask = ze::functions::zeDriverGetExtensionFunctionAddress;
  static auto* const ask = look_up<Ask>("zeDriverGetExtensionFunctionAddress");
  if (ask == nullptr) return false;
  const auto driver = sycl::get_native<sycl::backend::ext_oneapi_level_zero>(device.get_platform());
  void* function = nullptr;
  return ask(reinterpret_cast<ze::Driver>(driver), ze::kSoftwareDriverFunction, &function) == 0 && function != nullptr;
}

}  // namespace usm_ipc::sycl_library

using namespace usm_ipc;
using namespace usm_ipc::sycl_library;

extern "C" int usm_ipc_sycl_extent(const void* pointer, const DPCTLSyclContextRef context, void** base,
                                   size_t* nbytes) {
  return guarded("zeMemGetAddressRange", [&] {
    required(base, "base is null");
    required(nbytes, "nbytes is null");
    static auto* const ask = look_up<ze::functions::zeMemGetAddressRange>("zeMemGetAddressRange");
    if (ask == nullptr) throw NullResult{"the Level Zero loader has no zeMemGetAddressRange"};
    const auto native = sycl::get_native<sycl::backend::ext_oneapi_level_zero>(context_of(context));
    const auto result = ask(reinterpret_cast<ze::Context>(native), pointer, base, nbytes);
    if (static_cast<uint32_t>(result) != 0) throw LevelZeroError{static_cast<uint32_t>(result)};
    if (*base == nullptr) throw NullResult{"the driver knows no memory there"};
  });
}
