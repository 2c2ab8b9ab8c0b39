// One process: virtual memory, pools, and the descriptors that stand for them.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "program.h"

using namespace usm_ipc::cu;

namespace {

constexpr size_t kSize = 2 * kMiB;

// Without a fault of this process.
bool can_be_touched(DevicePtr pointer) {
  int ends[2];
  EXPECT(pipe(ends) == 0);
  const ssize_t written = write(ends[1], reinterpret_cast<const void*>(pointer), 1);
  EXPECT(written == 1 || errno == EFAULT);
  close(ends[0]);
  close(ends[1]);
  return written == 1;
}

int export_physical(MemHandle handle) {
  int fd = -1;
  GIVES(CU(cuMemExportToShareableHandle)(&fd, handle, kMemHandlePosixFd, 0), kSuccess);
  return fd;
}

int export_pool(MemPool pool) {
  int fd = -1;
  GIVES(CU(cuMemPoolExportToShareableHandle)(&fd, pool, kMemHandlePosixFd, 0), kSuccess);
  return fd;
}

}  // namespace

CASE(sizes_are_multiples_of_the_granularity) {
  set_up();
  MemAllocationProp prop = physical_prop();
  size_t granularity = 0;
  GIVES(CU(cuMemGetAllocationGranularity)(&granularity, &prop, kGranularityMinimum), kSuccess);
  EXPECT(granularity == kSize);
  MemHandle handle = 0;
  DevicePtr pointer = 0;
  GIVES(CU(cuMemCreate)(&handle, kSize + 4096, &prop, 0), kInvalidValue);
  GIVES(CU(cuMemAddressReserve)(&pointer, 4096, 0, 0, 0), kInvalidValue);
  prop.location.id = 1;
  GIVES(CU(cuMemCreate)(&handle, kSize, &prop, 0), kInvalidDevice);
}

CASE(memory_is_there_when_access_is_set) {
  set_up();
  const MemHandle handle = create_physical(kSize);
  const DevicePtr pointer = reserve(kSize);
  GIVES(set_access(pointer, kSize), kInvalidValue);
  GIVES(CU(cuMemMap)(pointer, kSize / 2, 0, handle, 0), kNotSupported);
  GIVES(CU(cuMemMap)(pointer, 2 * kSize, 0, handle, 0), kNotSupported);
  GIVES(CU(cuMemMap)(pointer + kSize, kSize, 0, handle, 0), kInvalidValue);
  GIVES(CU(cuMemMap)(pointer, kSize, 0, handle + 1, 0), kInvalidValue);
  GIVES(CU(cuMemMap)(pointer, kSize, 0, handle, 0), kSuccess);
  GIVES(CU(cuMemMap)(pointer, kSize, 0, handle, 0), kInvalidValue);
  unsigned char byte = 0;
  EXPECT(!can_be_touched(pointer));
  GIVES(CU(cuMemcpyDtoH_v2)(&byte, pointer, 1), kInvalidValue);
  GIVES(set_access(pointer, kSize), kSuccess);
  EXPECT(can_be_touched(pointer));
  write_byte(pointer + kSize - 1, 5);
  EXPECT(read_byte(pointer + kSize - 1) == 5);

  MemHandle retained = 0;
  GIVES(CU(cuMemRetainAllocationHandle)(&retained, reinterpret_cast<void*>(pointer + 77)), kSuccess);
  EXPECT(retained == handle);
  GIVES(CU(cuMemRelease)(retained), kSuccess);
  GIVES(CU(cuMemRelease)(handle), kSuccess);
  EXPECT(free_memory() == 1024 * kMiB - kSize);
  EXPECT(read_byte(pointer + kSize - 1) == 5);
  GIVES(CU(cuMemAddressFree)(pointer, kSize), kInvalidValue);
  GIVES(CU(cuMemUnmap)(pointer, kSize / 2), kInvalidValue);
  GIVES(CU(cuMemUnmap)(pointer, kSize), kSuccess);
  EXPECT(!can_be_touched(pointer));
  EXPECT(free_memory() == 1024 * kMiB);
  GIVES(CU(cuMemRelease)(handle), kInvalidValue);
  GIVES(CU(cuMemUnmap)(pointer, kSize), kInvalidValue);
  GIVES(CU(cuMemAddressFree)(pointer, kSize), kSuccess);
}

CASE(several_handles_in_one_reservation) {
  set_up();
  const MemHandle one = create_physical(kSize), other = create_physical(2 * kSize);
  const DevicePtr pointer = reserve(3 * kSize);
  GIVES(CU(cuMemMap)(pointer, kSize, 0, one, 0), kSuccess);
  GIVES(CU(cuMemMap)(pointer + kSize, 2 * kSize, 0, other, 0), kSuccess);
  GIVES(set_access(pointer, 2 * kSize), kInvalidValue);
  GIVES(set_access(pointer, 3 * kSize), kSuccess);
  DevicePtr base = 0;
  size_t bytes = 0;
  GIVES(CU(cuMemGetAddressRange_v2)(&base, &bytes, pointer + 2 * kSize), kSuccess);
  EXPECT(base == pointer + kSize && bytes == 2 * kSize);
  write_byte(pointer + kSize - 1, 1);
  write_byte(pointer + kSize, 2);
  EXPECT(read_byte(pointer + kSize - 1) == 1 && read_byte(pointer + kSize) == 2);
  GIVES(CU(cuMemUnmap)(pointer, kSize), kSuccess);
  EXPECT(!can_be_touched(pointer) && read_byte(pointer + kSize) == 2);
  GIVES(CU(cuMemUnmap)(pointer + kSize, 2 * kSize), kSuccess);
  GIVES(CU(cuMemAddressFree)(pointer, 3 * kSize), kSuccess);
}

CASE(descriptors_stand_for_memory_and_say_nothing_of_it) {
  set_up();
  const MemHandle handle = create_physical(kSize);
  const DevicePtr pointer = map(handle, kSize);
  write_byte(pointer, 9);
  const int fd = export_physical(handle);
  EXPECT(fcntl(fd, F_GETFD) == FD_CLOEXEC);
  EXPECT(fcntl(fd, F_GET_SEALS) == -1 && errno == EINVAL);
  struct stat about{};
  EXPECT(fstat(fd, &about) == 0 && !S_ISREG(about.st_mode));
  for (int i = 0; i < 2; i++) {
    MemHandle imported = 0;
    GIVES(CU(cuMemImportFromShareableHandle)(&imported, as_shareable(fd), kMemHandlePosixFd), kSuccess);
    MemAllocationProp prop{};
    GIVES(CU(cuMemGetAllocationPropertiesFromHandle)(&prop, imported), kSuccess);
    EXPECT(prop.type == kMemAllocationPinned && prop.requested_handle_types == kMemHandleNone && prop.location.id == 0);
    const DevicePtr second = map(imported, kSize);
    EXPECT(second != pointer && read_byte(second) == 9);
    EXPECT(free_memory() == 1024 * kMiB - kSize);
    GIVES(CU(cuMemUnmap)(second, kSize), kSuccess);
    GIVES(CU(cuMemRelease)(imported), kSuccess);
  }
  EXPECT(free_memory() == 1024 * kMiB - kSize);
  const MemHandle unshared = create_physical(kSize, kMemHandleNone);
  int none = -1;
  GIVES(CU(cuMemExportToShareableHandle)(&none, unshared, kMemHandlePosixFd, 0), kNotSupported);
}

CASE(other_descriptors_are_refused) {
  set_up();
  MemHandle handle = 0;
  MemPool pool = nullptr;
  int ends[2];
  EXPECT(pipe(ends) == 0);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {null, ends[0], 9999, -1}) {
    GIVES(CU(cuMemImportFromShareableHandle)(&handle, as_shareable(fd), kMemHandlePosixFd), kUnknown);
    GIVES(CU(cuMemPoolImportFromShareableHandle)(&pool, as_shareable(fd), kMemHandlePosixFd, 0), kUnknown);
  }
  const int physical = export_physical(create_physical(kSize));
  const int of_pool = export_pool(create_pool());
  GIVES(CU(cuMemImportFromShareableHandle)(&handle, as_shareable(of_pool), kMemHandlePosixFd), kNotSupported);
  GIVES(CU(cuMemPoolImportFromShareableHandle)(&pool, as_shareable(physical), kMemHandlePosixFd, 0), kNotSupported);
}

CASE(pools) {
  set_up();
  const MemPool pool = create_pool(), unshared = create_pool(kMemHandleNone);
  int fd = -1;
  GIVES(CU(cuMemPoolExportToShareableHandle)(&fd, unshared, kMemHandlePosixFd, 0), kInvalidValue);
  DevicePtr one = 0, other = 0, hidden = 0;
  MemPoolPtrExportData data{};
  GIVES(CU(cuMemAllocFromPoolAsync)(&one, 1000, pool, nullptr), kSuccess);
  GIVES(CU(cuMemAllocFromPoolAsync)(&other, 1000, pool, nullptr), kSuccess);
  GIVES(CU(cuMemAllocFromPoolAsync)(&hidden, 1000, unshared, nullptr), kSuccess);
  EXPECT(other == one + 1024);
  EXPECT(attribute<MemPool>(kPointerMemPool, one) == pool);
  EXPECT(attribute<uint64_t>(kPointerAllowedHandleTypes, one) == kMemHandlePosixFd);
  fd = export_pool(pool);
  GIVES(CU(cuMemPoolExportPointer)(&data, one + 1), kInvalidValue);
  GIVES(CU(cuMemPoolExportPointer)(&data, hidden), kInvalidValue);
  GIVES(CU(cuMemPoolExportPointer)(&data, other), kSuccess);
  write_byte(other + 3, 8);

  MemPool imported = nullptr, again = nullptr;
  GIVES(CU(cuMemPoolImportFromShareableHandle)(&imported, as_shareable(fd), kMemHandlePosixFd, 0), kSuccess);
  GIVES(CU(cuMemPoolImportFromShareableHandle)(&again, as_shareable(fd), kMemHandlePosixFd, 0), kSuccess);
  EXPECT(imported == again && imported != pool);
  const MemAccessDesc access{{kMemLocationDevice, 0}, kMemAccessReadWrite};
  GIVES(CU(cuMemPoolSetAccess)(imported, &access, 1), kSuccess);
  uint64_t threshold = ~0ull;
  GIVES(CU(cuMemPoolSetAttribute)(pool, kMemPoolReleaseThreshold, &threshold), kSuccess);
  DevicePtr opened = 0, twice = 0, none = 0;
  GIVES(CU(cuMemPoolImportPointer)(&opened, imported, &data), kSuccess);
  GIVES(CU(cuMemPoolImportPointer)(&twice, imported, &data), kSuccess);
  EXPECT(opened == twice && opened != other && read_byte(opened + 3) == 8);
  GIVES(CU(cuMemAllocFromPoolAsync)(&none, 1, imported, nullptr), kInvalidValue);
  GIVES(CU(cuMemPoolExportToShareableHandle)(&fd, imported, kMemHandlePosixFd, 0), kInvalidValue);
  MemPoolPtrExportData damaged = data, zeros{};
  damaged.reserved[0] ^= 1;
  GIVES(CU(cuMemPoolImportPointer)(&none, imported, &damaged), kInvalidValue);
  GIVES(CU(cuMemPoolImportPointer)(&none, imported, &zeros), kInvalidValue);
  // The exporter's own pool takes no pointers in.
  GIVES(CU(cuMemPoolImportPointer)(&none, pool, &data), kInvalidValue);

  GIVES(CU(cuMemFreeAsync)(other, nullptr), kSuccess);
  GIVES(CU(cuMemFreeAsync)(other, nullptr), kInvalidValue);
  EXPECT(read_byte(opened + 3) == 8);
  GIVES(CU(cuMemFreeAsync)(opened, nullptr), kSuccess);
  unsigned char byte = 0;
  GIVES(CU(cuMemcpyDtoH_v2)(&byte, opened, 1), kInvalidValue);
  GIVES(CU(cuMemPoolDestroy)(imported), kSuccess);
  GIVES(CU(cuMemPoolDestroy)(again), kSuccess);
  GIVES(CU(cuMemPoolDestroy)(again), kInvalidValue);
  // What lives in a pool outlives its end.
  GIVES(CU(cuMemPoolDestroy)(pool), kSuccess);
  write_byte(one, 4);
  EXPECT(read_byte(one) == 4);
  GIVES(CU(cuMemFreeAsync)(one, nullptr), kSuccess);
  GIVES(CU(cuMemFreeAsync)(hidden, nullptr), kSuccess);
  EXPECT(free_memory() == 1024 * kMiB);
  MemPool built_in = nullptr;
  GIVES(CU(cuDeviceGetDefaultMemPool)(&built_in, 0), kSuccess);
  GIVES(CU(cuMemPoolDestroy)(built_in), kInvalidValue);
}

int main(int count, char** arguments) { return run_cases(count, arguments); }
