#include <atomic>

#include "level_zero_cpu/entry_points.h"
#include "level_zero_cpu/virtual_memory.h"

namespace usm_ipc::ze {
namespace {

AddressSpace& space() { return AddressSpace::instance(); }

// The file to map where the program has one of another process; it stays the program's own.
UniqueFd imported_file(const ExternalMemoryImportFd& from, size_t size) {
  require(from.flags == kExternalMemoryOpaqueFd, kUnsupportedEnumeration);
  UniqueFd file = duplicate_fd(from.fd);
  require(static_cast<bool>(file) && memory_file_size(file.get()) >= size, kInvalidArgument);
  return file;
}

const ExternalMemoryImportFd* find_import(const PhysicalMemDesc& desc) {
  for (auto* it = static_cast<const BaseProperties*>(desc.next); it != nullptr;
       it = static_cast<const BaseProperties*>(it->next)) {
    if (it->stype == kExternalMemoryImportFd) return reinterpret_cast<const ExternalMemoryImportFd*>(it);
  }
  return nullptr;
}

std::atomic<uint64_t> next_id{1};

}  // namespace

USM_IPC_ZE_API Result zePhysicalMemCreate(Context context, Device device, PhysicalMemDesc* desc, PhysicalMem* out) {
  return entry("zePhysicalMemCreate", Reach::device, [&] {
    object(context);
    DeviceHandle& owner = object(device);
    require(required(desc).flags <= 3, kInvalidEnumeration);
    const size_t size = desc->size;
    require(size != 0 && size % kPageSize == 0 && size <= config().memory, kUnsupportedSize);
    required(out);
    const ExternalMemoryImportFd* const import = find_import(*desc);
    UniqueFd file = import != nullptr ? imported_file(*import, size) : make_memory_file(size);
    DeviceMemory* const memory = import != nullptr ? nullptr : owner.memory;
    *out = new PhysicalMemHandle{Kind::physical_memory, {memory, size}, size, next_id++, std::move(file)};
  });
}

USM_IPC_ZE_API Result zePhysicalMemDestroy(Context context, PhysicalMem handle) {
  return entry("zePhysicalMemDestroy", Reach::release, [&] {
    object(context);
    delete &object(handle);
  });
}

// Every descriptor that it tells is a new one, the caller's to close.
USM_IPC_ZE_API Result zePhysicalMemGetProperties(Context context, PhysicalMem handle,
                                                 PhysicalMemProperties* properties) {
  return entry("zePhysicalMemGetProperties", Reach::host, [&] {
    object(context);
    const PhysicalMemHandle& memory = object(handle);
    required(properties).id = memory.id;
    properties->size = memory.size;
    ExternalMemoryExportFd* to = nullptr;
    for (auto* it = static_cast<BaseProperties*>(properties->next); it != nullptr;
         it = static_cast<BaseProperties*>(it->next)) {
      if (it->stype == kExternalMemoryExportFd) to = reinterpret_cast<ExternalMemoryExportFd*>(it);
    }
    if (to == nullptr) return;
    require(to->flags == kExternalMemoryOpaqueFd, kUnsupportedEnumeration);
    UniqueFd file = duplicate_fd(memory.file.get());
    require(static_cast<bool>(file), kOutOfHostMemory);
    to->fd = file.release();
  });
}

USM_IPC_ZE_API Result zeVirtualMemReserve(Context context, const void* start, size_t size, void** out) {
  return entry("zeVirtualMemReserve", Reach::device, [&] {
    object(context);
    required(out);
    *out = space().reserve(start, size);
  });
}

USM_IPC_ZE_API Result zeVirtualMemFree(Context context, const void* start, size_t size) {
  return entry("zeVirtualMemFree", Reach::release, [&] {
    object(context);
    space().free(start, size);
  });
}

USM_IPC_ZE_API Result zeVirtualMemQueryPageSize(Context context, Device device, size_t size, size_t* page_size) {
  return entry("zeVirtualMemQueryPageSize", Reach::host, [&] {
    object(context);
    object(device);
    require(size != 0, kUnsupportedSize);
    required(page_size) = kPageSize;
  });
}

USM_IPC_ZE_API Result zeVirtualMemMap(Context context, const void* start, size_t size, PhysicalMem memory,
                                      size_t offset, uint32_t access) {
  return entry("zeVirtualMemMap", Reach::device, [&] {
    object(context);
    space().map(start, size, object(memory), offset, access);
  });
}

USM_IPC_ZE_API Result zeVirtualMemUnmap(Context context, const void* start, size_t size) {
  return entry("zeVirtualMemUnmap", Reach::release, [&] {
    object(context);
    space().unmap(start, size);
  });
}

USM_IPC_ZE_API Result zeVirtualMemSetAccessAttribute(Context context, const void* start, size_t size,
                                                     uint32_t access) {
  return entry("zeVirtualMemSetAccessAttribute", Reach::device, [&] {
    object(context);
    space().set_access(start, size, access);
  });
}

USM_IPC_ZE_API Result zeVirtualMemGetAccessAttribute(Context context, const void* start, size_t size,
                                                     uint32_t* access, size_t* out_size) {
  return entry("zeVirtualMemGetAccessAttribute", Reach::host, [&] {
    object(context);
    require(start != nullptr && access != nullptr && out_size != nullptr, kInvalidNullPointer);
    require(size != 0, kUnsupportedSize);
    *out_size = space().access(start, *access);
  });
}

}  // namespace usm_ipc::ze
