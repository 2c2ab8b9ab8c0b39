// A loader that says that a function succeeded which it has not called: USM_IPC_TEST_EMPTY names the function. All
// others are those of the loader that it is linked to.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "level_zero/abi.h"

namespace ze = usm_ipc::ze;

namespace {

bool is_empty(const char* name) {
  const char* const empty = std::getenv("USM_IPC_TEST_EMPTY");
  return empty != nullptr && std::strcmp(empty, name) == 0;
}

template <typename... Parameters>
ze::Result pass(ze::Result (*)(Parameters...), const char* name, Parameters... parameters) {
  if (is_empty(name)) return ze::kSuccess;
  return reinterpret_cast<ze::Result (*)(Parameters...)>(dlsym(RTLD_NEXT, name))(parameters...);
}

}  // namespace

#define EMPTY(name, parameters, ...)                                              \
  extern "C" __attribute__((visibility("default"))) ze::Result name parameters {  \
    return pass(static_cast<ze::functions::name*>(nullptr), #name, __VA_ARGS__);  \
  }

EMPTY(zeInit, (uint32_t flags), flags)
EMPTY(zeDriverGet, (uint32_t * count, ze::Driver* drivers), count, drivers)
EMPTY(zeDeviceGet, (ze::Driver driver, uint32_t* count, ze::Device* devices), driver, count, devices)
EMPTY(zeDeviceGetProperties, (ze::Device device, ze::DeviceProperties* properties), device, properties)
EMPTY(zeDeviceGetCommandQueueGroupProperties,
      (ze::Device device, uint32_t* count, ze::CommandQueueGroupProperties* groups), device, count, groups)
EMPTY(zeContextCreate, (ze::Driver driver, const ze::ContextDesc* desc, ze::Context* context), driver, desc, context)
EMPTY(zeCommandListCreateImmediate,
      (ze::Context context, ze::Device device, const ze::CommandQueueDesc* desc, ze::CommandList* list), context, device,
      desc, list)
EMPTY(zeMemAllocDevice,
      (ze::Context context, const ze::DeviceMemAllocDesc* desc, size_t size, size_t alignment, ze::Device device,
       void** pointer),
      context, desc, size, alignment, device, pointer)
EMPTY(zeMemAllocHost,
      (ze::Context context, const ze::HostMemAllocDesc* desc, size_t size, size_t alignment, void** pointer), context,
      desc, size, alignment, pointer)
EMPTY(zeMemGetIpcHandle, (ze::Context context, const void* pointer, ze::IpcMemHandle* handle), context, pointer, handle)
EMPTY(zeMemOpenIpcHandle,
      (ze::Context context, ze::Device device, ze::IpcMemHandle handle, uint32_t flags, void** pointer), context, device,
      handle, flags, pointer)
EMPTY(zeMemGetAllocProperties,
      (ze::Context context, const void* pointer, ze::MemoryAllocationProperties* properties, ze::Device* device), context,
      pointer, properties, device)
EMPTY(zeMemGetAddressRange, (ze::Context context, const void* pointer, void** base, size_t* size), context, pointer,
      base, size)
