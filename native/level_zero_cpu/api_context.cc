#include "level_zero_cpu/devices.h"
#include "level_zero_cpu/entry_points.h"

namespace usm_ipc::ze {
namespace {

void create(Driver handle, const ContextDesc* desc, Context* out) {
  object(handle);
  require(required(desc).flags <= 1, kInvalidEnumeration);
  required(out);
  *out = new ContextHandle;
}

ContextHandle& default_context() {
  static ContextHandle* const context = new ContextHandle;
  return *context;
}

void check_range(Context context, Device device, void* pointer, size_t size) {
  object(context);
  object(device);
  require(pointer != nullptr, kInvalidNullPointer);
  require(size != 0, kInvalidSize);
}

}  // namespace

USM_IPC_ZE_API Result zeContextCreate(Driver handle, const ContextDesc* desc, Context* out) {
  return entry("zeContextCreate", Reach::device, [&] { create(handle, desc, out); });
}

// All devices' memory is memory of this machine: a context for some of them is one for all.
USM_IPC_ZE_API Result zeContextCreateEx(Driver handle, const ContextDesc* desc, uint32_t count, Device* devices,
                                        Context* out) {
  return entry("zeContextCreateEx", Reach::device, [&] {
    require(count == 0 || devices != nullptr, kInvalidNullPointer);
    for (uint32_t i = 0; i < count; i++) object(devices[i]);
    create(handle, desc, out);
  });
}

// The driver's own, never destroyed. It gives a handle, not a result: null where there is none.
USM_IPC_ZE_API Context zeDriverGetDefaultContext(Driver handle) {
  Context context = nullptr;
  entry("zeDriverGetDefaultContext", Reach::host, [&] {
    object(handle);
    context = &default_context();
  });
  return context;
}

USM_IPC_ZE_API Result zeContextDestroy(Context handle) {
  return entry("zeContextDestroy", Reach::release, [&] {
    ContextHandle& context = object(handle);
    require(&context != &default_context(), kInvalidArgument);
    delete &context;
  });
}

USM_IPC_ZE_API Result zeContextGetStatus(Context handle) {
  return entry("zeContextGetStatus", Reach::device, [&] { object(handle); });
}

USM_IPC_ZE_API Result zeContextSystemBarrier(Context context, Device device) {
  return entry("zeContextSystemBarrier", Reach::device, [&] {
    object(context);
    object(device);
  });
}

// Memory files are always resident as far as a device can tell.
USM_IPC_ZE_API Result zeContextMakeMemoryResident(Context context, Device device, void* pointer, size_t size) {
  return entry("zeContextMakeMemoryResident", Reach::device, [&] { check_range(context, device, pointer, size); });
}

USM_IPC_ZE_API Result zeContextEvictMemory(Context context, Device device, void* pointer, size_t size) {
  return entry("zeContextEvictMemory", Reach::device, [&] { check_range(context, device, pointer, size); });
}

}  // namespace usm_ipc::ze
