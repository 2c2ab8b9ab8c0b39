// Legacy IPC handles. What they hold of the block and where it is looked for is this driver's own affair; that some of their
// bits do not matter when one is opened is as in NVIDIA's.
#include <unistd.h>

#include <cstring>
#include <string>

#include "cuda_cpu/context.h"
#include "cuda_cpu/entry.h"

using namespace usm_ipc::cuda_cpu;

namespace {

// Bytes 0 to 7, 9 to 23, 37 to 47 and 56 to 63 are not looked at.
struct Handle {
  uint64_t number;       // ignored
  uint64_t process_low;  // the lowest byte counts
  uint64_t nbytes_seen;  // ignored
  uint32_t process;
  uint16_t fd;
  uint16_t token;
  uint32_t offset;  // in the block, in steps of 512 bytes
  uint8_t counter;
  uint8_t ignored[11];
  uint64_t nbytes;
  uint64_t zero;
};
static_assert(sizeof(Handle) == sizeof(IpcMemHandle));

std::string key_of(const Handle& handle) {
  return std::string(reinterpret_cast<const char*>(&handle.process), 13) +
         std::string(reinterpret_cast<const char*>(&handle.nbytes), 8);
}

}  // namespace

CUDA_CALL(cuIpcGetMemHandle, IpcMemHandle* out, DevicePtr pointer) {
  ENTER_IN_CONTEXT(cuIpcGetMemHandle);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  DevicePtr base = 0;
  const Range* const range = driver.range_at(pointer, &base);
  if (out == nullptr || range == nullptr || range->origin != Origin::legacy) return kInvalidValue;
  const MappedFile& memory = *range->memory;
  Handle handle{};
  handle.number = 0x5500000000 + range->id;
  handle.process_low = handle.process = static_cast<uint32_t>(::getpid());
  handle.nbytes_seen = handle.nbytes = range->nbytes;
  handle.fd = static_cast<uint16_t>(memory.file->fd.get());
  handle.token = memory.file->token;
  handle.offset = static_cast<uint32_t>((base - reinterpret_cast<DevicePtr>(memory.base)) / 512);
  handle.counter = range->counter;
  std::memcpy(out, &handle, sizeof handle);
  return kSuccess;
}

CUDA_CALL(cuIpcOpenMemHandle_v2, DevicePtr* pointer, IpcMemHandle given, unsigned flags) {
  ENTER_IN_CONTEXT(cuIpcOpenMemHandle_v2);
  if (pointer == nullptr || (flags & ~kIpcMemLazyEnablePeerAccess) != 0) return kInvalidValue;
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  Handle handle;
  std::memcpy(&handle, &given, sizeof handle);
  if (static_cast<uint8_t>(handle.process_low) != static_cast<uint8_t>(handle.process)) return kInvalidValue;
  if (handle.process == static_cast<uint32_t>(::getpid())) return kInvalidContext;
  const std::string key = key_of(handle);
  for (auto& [at, range] : driver.ranges) {
    if (range.origin != Origin::imported || range.key != key) continue;
    ++range.opens;
    *pointer = at;
    return kSuccess;
  }
  auto file = file_of(handle.process, handle.fd, handle.token);
  const uint64_t offset = uint64_t{handle.offset} * 512;
  if (file == nullptr || handle.nbytes == 0 || offset > file->nbytes || handle.nbytes > file->nbytes - offset) return kInvalidValue;
  const uint64_t whole = file->nbytes;
  auto memory = map_file(std::move(file), whole);
  if (memory == nullptr) return kMapFailed;
  Range range = driver.new_range(handle.nbytes, Origin::imported, current_device());
  range.key = key;
  range.opens = 1;
  *pointer = reinterpret_cast<DevicePtr>(memory->base) + offset;
  range.memory = std::move(memory);
  driver.ranges[*pointer] = std::move(range);
  return kSuccess;
}

CUDA_CALL(cuIpcCloseMemHandle, DevicePtr pointer) {
  ENTER_IN_CONTEXT(cuIpcCloseMemHandle);
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  const auto found = driver.ranges.find(pointer);
  if (found == driver.ranges.end() || found->second.origin != Origin::imported || found->second.opens == 0) return kInvalidValue;
  if (--found->second.opens == 0) driver.ranges.erase(found);
  return kSuccess;
}
