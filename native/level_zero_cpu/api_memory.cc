#include "level_zero_cpu/entry_points.h"
#include "level_zero_cpu/memory.h"

namespace usm_ipc::ze {
namespace {

MemoryTable& memory() { return MemoryTable::instance(); }

void check_flags(uint32_t flags, uint32_t known) { require((flags & ~known) == 0, kInvalidEnumeration); }

void check(const DeviceMemAllocDesc* desc) {
  check_flags(required(desc).flags, kDeviceMemAllocFlags);
  // Memory for another interface: its handle would come from the allocation's properties.
  for (auto* it = static_cast<const BaseProperties*>(desc->next); it != nullptr;
       it = static_cast<const BaseProperties*>(it->next)) {
    require(it->stype != kExternalMemoryExportDesc && it->stype != kExternalMemoryImportFd, kUnsupportedFeature);
  }
}

void check(const HostMemAllocDesc* desc) { check_flags(required(desc).flags, kHostMemAllocFlags); }

}  // namespace

USM_IPC_ZE_API Result zeMemAllocDevice(Context context, const DeviceMemAllocDesc* desc, size_t size, size_t alignment,
                                       Device device, void** out) {
  return entry("zeMemAllocDevice", Reach::device, [&] {
    object(context);
    DeviceHandle& owner = object(device);
    check(desc);
    required(out);
    *out = memory().allocate(kMemoryDevice, &owner, size, alignment);
  });
}

USM_IPC_ZE_API Result zeMemAllocHost(Context context, const HostMemAllocDesc* desc, size_t size, size_t alignment,
                                     void** out) {
  return entry("zeMemAllocHost", Reach::device, [&] {
    object(context);
    check(desc);
    required(out);
    *out = memory().allocate(kMemoryHost, nullptr, size, alignment);
  });
}

USM_IPC_ZE_API Result zeMemAllocShared(Context context, const DeviceMemAllocDesc* device_desc,
                                       const HostMemAllocDesc* host_desc, size_t size, size_t alignment, Device device,
                                       void** out) {
  return entry("zeMemAllocShared", Reach::device, [&] {
    object(context);
    DeviceHandle* const owner = device == nullptr ? nullptr : &object(device);
    check(device_desc);
    check(host_desc);
    required(out);
    *out = memory().allocate(kMemoryShared, owner, size, alignment);
  });
}

USM_IPC_ZE_API Result zeMemFree(Context context, void* pointer) {
  return entry("zeMemFree", Reach::release, [&] {
    object(context);
    require(pointer != nullptr, kInvalidNullPointer);
    memory().free(pointer);
  });
}

// Commands keep what they use mapped, so that both policies are the same here.
USM_IPC_ZE_API Result zeMemFreeExt(Context context, const MemoryFreeExtDesc* desc, void* pointer) {
  return entry("zeMemFreeExt", Reach::release, [&] {
    object(context);
    check_flags(required(desc).policy, kBlockingFree | kDeferFree);
    require(pointer != nullptr, kInvalidNullPointer);
    memory().free(pointer);
  });
}

USM_IPC_ZE_API Result zeMemGetAllocProperties(Context context, const void* pointer,
                                              MemoryAllocationProperties* properties, Device* device) {
  return entry("zeMemGetAllocProperties", Reach::host, [&] {
    object(context);
    require(pointer != nullptr && properties != nullptr, kInvalidNullPointer);
    for (auto* it = static_cast<BaseProperties*>(properties->next); it != nullptr;
         it = static_cast<BaseProperties*>(it->next)) {
      require(it->stype != kExternalMemoryExportFd, kUnsupportedFeature);
    }
    properties->type = kMemoryUnknown;
    properties->id = properties->page_size = 0;
    if (device != nullptr) *device = nullptr;
    const auto known = memory().lookup(pointer);
    if (!known) return;
    properties->type = known->type;
    properties->id = known->id;
    properties->page_size = kPageSize;
    if (device != nullptr) *device = known->device;
  });
}

USM_IPC_ZE_API Result zeMemGetAddressRange(Context context, const void* pointer, void** base, size_t* size) {
  return entry("zeMemGetAddressRange", Reach::host, [&] {
    object(context);
    require(pointer != nullptr, kInvalidNullPointer);
    const auto known = memory().lookup(pointer);
    require(known.has_value(), kInvalidArgument);
    if (base != nullptr) *base = known->base;
    if (size != nullptr) *size = known->size;
  });
}

USM_IPC_ZE_API Result zeMemGetIpcHandle(Context context, const void* pointer, IpcMemHandle* handle) {
  return entry("zeMemGetIpcHandle", Reach::device, [&] {
    object(context);
    require(pointer != nullptr && handle != nullptr, kInvalidNullPointer);
    *handle = memory().get_handle(pointer);
  });
}

USM_IPC_ZE_API Result zeMemPutIpcHandle(Context context, IpcMemHandle handle) {
  return entry("zeMemPutIpcHandle", Reach::release, [&] {
    object(context);
    memory().put_handle(handle);
  });
}

USM_IPC_ZE_API Result zeMemOpenIpcHandle(Context context, Device device, IpcMemHandle handle, uint32_t flags,
                                         void** out) {
  return entry("zeMemOpenIpcHandle", Reach::device, [&] {
    object(context);
    DeviceHandle& importer = object(device);
    check_flags(flags, kIpcBiasCached | kIpcBiasUncached);
    required(out);
    *out = memory().open_handle(importer, handle);
  });
}

USM_IPC_ZE_API Result zeMemCloseIpcHandle(Context context, const void* pointer) {
  return entry("zeMemCloseIpcHandle", Reach::release, [&] {
    object(context);
    require(pointer != nullptr, kInvalidNullPointer);
    memory().close_handle(pointer);
  });
}

}  // namespace usm_ipc::ze
