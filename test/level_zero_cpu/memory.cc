// USM: allocating, what the driver says of it, handles within one process.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "program.h"

using namespace usm_ipc::ze;

namespace {

int fd_of(const IpcMemHandle& handle) {
  int fd;
  std::memcpy(&fd, handle.data, sizeof fd);
  return fd;
}

bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

MemoryAllocationProperties properties_of(const Setup& it, const void* pointer, Device* device = nullptr) {
  MemoryAllocationProperties properties;
  GIVES(ZE(zeMemGetAllocProperties)(it.context, pointer, &properties, device), kSuccess);
  return properties;
}

void* allocate_host(const Setup& it, size_t size) {
  const HostMemAllocDesc desc;
  void* out = nullptr;
  GIVES(ZE(zeMemAllocHost)(it.context, &desc, size, 0, &out), kSuccess);
  return out;
}

void* allocate_shared(const Setup& it, size_t size, Device device) {
  const DeviceMemAllocDesc on_device;
  const HostMemAllocDesc on_host;
  void* out = nullptr;
  GIVES(ZE(zeMemAllocShared)(it.context, &on_device, &on_host, size, 0, device, &out), kSuccess);
  return out;
}

}  // namespace

CASE(kinds_of_usm) {
  Setup it;
  auto* const on_device = it.allocate(5000);
  void* const host = allocate_host(it, 1);
  void* const shared = allocate_shared(it, 70000, it.device);
  void* const unowned = allocate_shared(it, 64, nullptr);
  Device device = nullptr;
  const auto first = properties_of(it, on_device, &device);
  EXPECT(first.type == kMemoryDevice && device == it.device && first.page_size == 65536);
  EXPECT(properties_of(it, host, &device).type == kMemoryHost && device == nullptr);
  EXPECT(properties_of(it, shared, &device).type == kMemoryShared && device == it.device);
  EXPECT(properties_of(it, unowned, &device).type == kMemoryShared && device == nullptr);
  EXPECT(properties_of(it, host).id != first.id);
  // Inside and outside.
  EXPECT(properties_of(it, on_device + 4999).id == first.id);
  EXPECT(properties_of(it, on_device + 5000).type == kMemoryUnknown);
  int local = 0;
  EXPECT(properties_of(it, &local, &device).type == kMemoryUnknown && device == nullptr);
  // Memory for other interfaces is refused where it is made, and here.
  ExternalMemoryExportFd fd;
  MemoryAllocationProperties properties;
  properties.next = &fd;
  GIVES(ZE(zeMemGetAllocProperties)(it.context, on_device, &properties, nullptr), kUnsupportedFeature);
  for (void* const pointer : {static_cast<void*>(on_device), host, shared, unowned}) it.free(pointer);
  EXPECT(properties_of(it, on_device).type == kMemoryUnknown);
}

CASE(address_range) {
  Setup it;
  auto* const pointer = it.allocate(5000);
  void* base = nullptr;
  size_t size = 0;
  GIVES(ZE(zeMemGetAddressRange)(it.context, pointer + 4999, &base, &size), kSuccess);
  EXPECT(base == pointer && size == 5000);
  GIVES(ZE(zeMemGetAddressRange)(it.context, pointer, nullptr, &size), kSuccess);
  GIVES(ZE(zeMemGetAddressRange)(it.context, pointer, &base, nullptr), kSuccess);
  GIVES(ZE(zeMemGetAddressRange)(it.context, pointer + 5000, &base, &size), kInvalidArgument);
  GIVES(ZE(zeMemGetAddressRange)(it.context, nullptr, &base, &size), kInvalidNullPointer);
  GIVES(ZE(zeMemGetAddressRange)(nullptr, pointer, &base, &size), kInvalidNullHandle);
  it.free(pointer);
  GIVES(ZE(zeMemGetAddressRange)(it.context, pointer, &base, &size), kInvalidArgument);
}

CASE(alignment) {
  Setup it;
  for (const size_t alignment : {size_t{0}, size_t{1}, size_t{64}, size_t{65536}, size_t{1} << 21, size_t{1} << 30}) {
    auto* const pointer = it.allocate(100, alignment);
    EXPECT(reinterpret_cast<uintptr_t>(pointer) % std::max(alignment, size_t{65536}) == 0);
    std::memset(pointer, 1, 100);
    it.free(pointer);
  }
}

CASE(bad_allocations) {
  Setup it;
  DeviceMemAllocDesc desc;
  HostMemAllocDesc host;
  void* out = nullptr;
  const auto allocate = [&](size_t size, size_t alignment) {
    return ZE(zeMemAllocDevice)(it.context, &desc, size, alignment, it.device, &out);
  };
  GIVES(allocate(0, 0), kInvalidSize);
  GIVES(allocate(1, 3), kUnsupportedAlignment);
  GIVES(allocate(1, SIZE_MAX / 2 + 1), kUnsupportedAlignment);
  GIVES(allocate(SIZE_MAX, 0), kUnsupportedSize);
  GIVES(ZE(zeMemAllocDevice)(nullptr, &desc, 1, 0, it.device, &out), kInvalidNullHandle);
  GIVES(ZE(zeMemAllocDevice)(it.context, nullptr, 1, 0, it.device, &out), kInvalidNullPointer);
  GIVES(ZE(zeMemAllocDevice)(it.context, &desc, 1, 0, nullptr, &out), kInvalidNullHandle);
  GIVES(ZE(zeMemAllocDevice)(it.context, &desc, 1, 0, it.device, nullptr), kInvalidNullPointer);
  GIVES(ZE(zeMemAllocHost)(it.context, &host, 0, 0, &out), kInvalidSize);
  GIVES(ZE(zeMemAllocShared)(it.context, &desc, nullptr, 1, 0, it.device, &out), kInvalidNullPointer);
  desc.flags = 0x80;
  GIVES(allocate(1, 0), kInvalidEnumeration);
  desc.flags = 0;
  BaseProperties for_export;
  for_export.stype = kExternalMemoryExportDesc;
  desc.next = &for_export;
  GIVES(allocate(1, 0), kUnsupportedFeature);
  EXPECT(out == nullptr);
  GIVES(ZE(zeMemFree)(it.context, nullptr), kInvalidNullPointer);
  GIVES(ZE(zeMemFree)(it.context, &it), kInvalidArgument);
  auto* const pointer = it.allocate(100);
  GIVES(ZE(zeMemFree)(it.context, pointer + 1), kInvalidArgument);
  it.free(pointer);
  GIVES(ZE(zeMemFree)(it.context, pointer), kInvalidArgument);
  MemoryFreeExtDesc policy;
  GIVES(ZE(zeMemFreeExt)(it.context, nullptr, pointer), kInvalidNullPointer);
  GIVES(ZE(zeMemFreeExt)(it.context, &policy, pointer), kInvalidArgument);
  policy.policy = 8;
  GIVES(ZE(zeMemFreeExt)(it.context, &policy, pointer), kInvalidEnumeration);
}

// Run with USM_IPC_ZE_MEMORY=1048576 and a sub-device.
CASE(memory_runs_out) {
  Setup it;
  DeviceMemAllocDesc desc;
  void* out = nullptr;
  auto* const half = it.allocate(524288);
  uint32_t count = 1;
  Device sub = nullptr;
  GIVES(ZE(zeDeviceGetSubDevices)(it.device, &count, &sub), kSuccess);
  // Its root device's memory.
  GIVES(ZE(zeMemAllocDevice)(it.context, &desc, 524289, 0, sub, &out), kOutOfDeviceMemory);
  GIVES(ZE(zeMemAllocDevice)(it.context, &desc, 524288, 0, sub, &out), kSuccess);
  void* none = nullptr;
  GIVES(ZE(zeMemAllocDevice)(it.context, &desc, 1, 0, it.device, &none), kOutOfDeviceMemory);
  GIVES(ZE(zeMemAllocDevice)(it.context, &desc, 1048577, 0, it.device, &none), kUnsupportedSize);
  it.free(half);
  it.free(it.allocate(524288));
  it.free(out);
}

CASE(handle_of_interior_pointer_is_the_bases) {
  Setup it;
  auto* const pointer = it.allocate(5000);
  IpcMemHandle of_base;
  IpcMemHandle of_interior;
  GIVES(ZE(zeMemGetIpcHandle)(it.context, pointer, &of_base), kSuccess);
  GIVES(ZE(zeMemGetIpcHandle)(it.context, pointer + 100, &of_interior), kSuccess);
  EXPECT(std::memcmp(&of_base, &of_interior, sizeof of_base) == 0);
  it.free(pointer);
}

// The descriptor lives from the first get to the last put, or to the free.
CASE(exported_descriptor) {
  Setup it;
  auto* const pointer = it.allocate(5000);
  IpcMemHandle handle;
  GIVES(ZE(zeMemGetIpcHandle)(it.context, pointer, &handle), kSuccess);
  GIVES(ZE(zeMemGetIpcHandle)(it.context, pointer, &handle), kSuccess);
  const int fd = fd_of(handle);
  struct stat status;
  EXPECT(fstat(fd, &status) == 0 && status.st_size == 65536);
  EXPECT((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  EXPECT((fcntl(fd, F_GET_SEALS) & ~0x20) == (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
  GIVES(ZE(zeMemPutIpcHandle)(it.context, handle), kSuccess);
  EXPECT(is_open(fd));
  GIVES(ZE(zeMemPutIpcHandle)(it.context, handle), kSuccess);
  EXPECT(!is_open(fd));
  GIVES(ZE(zeMemPutIpcHandle)(it.context, handle), kInvalidArgument);
  GIVES(ZE(zeMemGetIpcHandle)(it.context, pointer, &handle), kSuccess);
  const int again = fd_of(handle);
  EXPECT(is_open(again));
  it.free(pointer);
  EXPECT(!is_open(again));
  GIVES(ZE(zeMemPutIpcHandle)(it.context, handle), kInvalidArgument);
}

CASE(bad_handles) {
  Setup it;
  IpcMemHandle handle{};
  void* out = &it;
  int local = 0;
  GIVES(ZE(zeMemGetIpcHandle)(it.context, &local, &handle), kInvalidArgument);
  GIVES(ZE(zeMemGetIpcHandle)(it.context, nullptr, &handle), kInvalidNullPointer);
  auto* const pointer = it.allocate(1);
  GIVES(ZE(zeMemGetIpcHandle)(it.context, pointer, nullptr), kInvalidNullPointer);
  GIVES(ZE(zeMemGetIpcHandle)(it.context, pointer, &handle), kSuccess);
  GIVES(ZE(zeMemOpenIpcHandle)(it.context, nullptr, handle, 0, &out), kInvalidNullHandle);
  GIVES(ZE(zeMemOpenIpcHandle)(it.context, it.device, handle, 0, nullptr), kInvalidNullPointer);
  GIVES(ZE(zeMemOpenIpcHandle)(it.context, it.device, handle, 8, &out), kInvalidEnumeration);
  const int none = -1;
  std::memcpy(handle.data, &none, sizeof none);
  GIVES(ZE(zeMemOpenIpcHandle)(it.context, it.device, handle, 0, &out), kInvalidArgument);
  // A pipe is no memory.
  int pipes[2];
  EXPECT(pipe(pipes) == 0);
  std::memcpy(handle.data, &pipes[0], sizeof(int));
  GIVES(ZE(zeMemOpenIpcHandle)(it.context, it.device, handle, 0, &out), kInvalidArgument);
  // Nor is a file, where its file system does not seal.
  std::FILE* const file = std::tmpfile();
  EXPECT(file != nullptr && std::fputs("some bytes", file) >= 0 && std::fflush(file) == 0);
  const int number = fileno(file);
  std::memcpy(handle.data, &number, sizeof number);
  if (fcntl(number, F_GET_SEALS) < 0) {
    GIVES(ZE(zeMemOpenIpcHandle)(it.context, it.device, handle, 0, &out), kInvalidArgument);
  }
  EXPECT(out == &it);
  GIVES(ZE(zeMemCloseIpcHandle)(it.context, nullptr), kInvalidNullPointer);
  GIVES(ZE(zeMemCloseIpcHandle)(it.context, &local), kInvalidArgument);
  // An own allocation is no mapping.
  GIVES(ZE(zeMemCloseIpcHandle)(it.context, pointer), kInvalidArgument);
  it.free(pointer);
}

CASE(opened_in_the_same_process) {
  Setup it;
  auto* const pointer = it.allocate(5000);
  pointer[0] = 7;
  IpcMemHandle handle;
  GIVES(ZE(zeMemGetIpcHandle)(it.context, pointer, &handle), kSuccess);
  void* opened[2] = {};
  for (void*& to : opened) GIVES(ZE(zeMemOpenIpcHandle)(it.context, it.device, handle, 0, &to), kSuccess);
  EXPECT(opened[0] != pointer && opened[1] != pointer && opened[0] != opened[1]);
  auto* const seen = static_cast<uint8_t*>(opened[0]);
  EXPECT(seen[0] == 7);
  seen[1] = 8;
  EXPECT(pointer[1] == 8 && static_cast<uint8_t*>(opened[1])[1] == 8);
  // The importer is told the pages, not the bytes that were asked for.
  void* base = nullptr;
  size_t size = 0;
  GIVES(ZE(zeMemGetAddressRange)(it.context, seen + 10, &base, &size), kSuccess);
  EXPECT(base == seen && size == 65536);
  Device device = nullptr;
  EXPECT(properties_of(it, seen, &device).type == kMemoryDevice && device == it.device);
  // Memory that was opened is not exported again, and given back by its own function alone.
  GIVES(ZE(zeMemGetIpcHandle)(it.context, seen, &handle), kUnsupportedFeature);
  GIVES(ZE(zeMemFree)(it.context, seen), kInvalidArgument);
  GIVES(ZE(zeMemCloseIpcHandle)(it.context, seen + 1), kInvalidArgument);
  it.free(pointer);
  EXPECT(seen[1] == 8);
  for (void* const from : opened) GIVES(ZE(zeMemCloseIpcHandle)(it.context, from), kSuccess);
  GIVES(ZE(zeMemCloseIpcHandle)(it.context, opened[0]), kInvalidArgument);
}

CASE(host_usm_opens_as_host_usm) {
  Setup it;
  void* const pointer = allocate_host(it, 100);
  IpcMemHandle handle;
  GIVES(ZE(zeMemGetIpcHandle)(it.context, pointer, &handle), kSuccess);
  void* opened = nullptr;
  GIVES(ZE(zeMemOpenIpcHandle)(it.context, it.device, handle, 0, &opened), kSuccess);
  EXPECT(properties_of(it, opened).type == kMemoryHost);
  GIVES(ZE(zeMemCloseIpcHandle)(it.context, opened), kSuccess);
  it.free(pointer);
}

// Prints the handle's bytes, its fd as 7 and its pid as 9, for the test that knows the layouts.
CASE(handle_bytes) {
  Setup it;
  const auto print = [&](void* pointer) {
    IpcMemHandle handle;
    GIVES(ZE(zeMemGetIpcHandle)(it.context, pointer, &handle), kSuccess);
    const auto fd = static_cast<uint64_t>(fd_of(handle));
    const auto pid = static_cast<uint32_t>(getpid());
    const uint64_t seven = 7;
    const uint32_t nine = 9;
    for (const size_t at : {size_t{0}, size_t{22}}) {
      if (std::memcmp(handle.data + at, &fd, sizeof fd) == 0) std::memcpy(handle.data + at, &seven, sizeof seven);
    }
    if (std::memcmp(handle.data + 16, &pid, sizeof pid) == 0) std::memcpy(handle.data + 16, &nine, sizeof nine);
    for (const uint8_t byte : handle.data) std::printf("%02x", byte);
    std::puts("");
    it.free(pointer);
  };
  print(it.allocate(100));
  print(allocate_host(it, 100));
}

// Descriptors and mappings of the process after as many cycles.
CASE(no_leak) {
  Setup it;
  const auto open_fds = [] {
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) count += is_open(fd) ? 1 : 0;
    return count;
  };
  const auto mappings = [] {
    std::FILE* const file = std::fopen("/proc/self/maps", "r");
    int count = 0;
    char line[1024];
    while (std::fgets(line, sizeof line, file) != nullptr) count += std::strstr(line, "memfd:") != nullptr ? 1 : 0;
    std::fclose(file);
    return count;
  };
  auto* const kept = it.allocate(5000);
  const int fds = open_fds();
  const int maps = mappings();
  for (int i = 0; i < 20000; i++) {
    IpcMemHandle handle;
    void* opened = nullptr;
    GIVES(ZE(zeMemGetIpcHandle)(it.context, kept, &handle), kSuccess);
    GIVES(ZE(zeMemOpenIpcHandle)(it.context, it.device, handle, 0, &opened), kSuccess);
    GIVES(ZE(zeMemCloseIpcHandle)(it.context, opened), kSuccess);
    GIVES(ZE(zeMemPutIpcHandle)(it.context, handle), kSuccess);
    if (i % 10 == 0) it.free(it.allocate(100));
  }
  EXPECT(open_fds() == fds && mappings() == maps);
  it.free(kept);
}

// No descriptor is left for another allocation.
CASE(descriptors_run_out) {
  Setup it;
  while (dup(0) >= 0) {
  }
  const DeviceMemAllocDesc desc;
  void* out = nullptr;
  GIVES(ZE(zeMemAllocDevice)(it.context, &desc, 1, 0, it.device, &out), kOutOfHostMemory);
}

int main(int count, char** arguments) { return run_cases(count, arguments); }
