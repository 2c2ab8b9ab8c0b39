#include "level_zero_cpu/ipc_handle.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

namespace usm_ipc::ze {
namespace {

// Classic: u64 fd, u64 pool offset, u8 memory type. Opaque: u64 fd, u64 pool offset, u32 pid, u8 handle type (0: fd),
// u8 memory type, and in the newest drivers a u64 mirror of the fd.
constexpr size_t kClassicType = 16;
constexpr size_t kOpaquePid = 16;
constexpr size_t kOpaqueType = 21;
constexpr size_t kOpaqueMirror = 22;

template <typename T>
void store(IpcMemHandle& handle, size_t offset, T value) {
  std::memcpy(handle.data + offset, &value, sizeof value);
}

template <typename T>
T load(const IpcMemHandle& handle, size_t offset) {
  T value;
  std::memcpy(&value, handle.data + offset, sizeof value);
  return value;
}

UniqueFd fd_of_process(int pid, int fd) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return UniqueFd();
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), fd, 0)));
}

}  // namespace

IpcMemHandle write_handle(HandleForm form, int fd, uint8_t memory_type) {
  IpcMemHandle handle{};
  store(handle, 0, static_cast<uint64_t>(fd));
  if (form == HandleForm::classic) {
    store(handle, kClassicType, memory_type);
    return handle;
  }
  store(handle, kOpaquePid, static_cast<uint32_t>(::getpid()));
  store(handle, kOpaqueType, memory_type);
  if (form == HandleForm::opaque_mirror) store(handle, kOpaqueMirror, static_cast<uint64_t>(fd));
  return handle;
}

uint64_t handle_pool_offset(const IpcMemHandle& handle) { return load<uint64_t>(handle, 8); }

int handle_fd(const IpcMemHandle& handle) { return load<int32_t>(handle, 0); }

uint8_t handle_memory_type(HandleForm form, const IpcMemHandle& handle) {
  return handle.data[form == HandleForm::classic ? kClassicType : kOpaqueType];
}

UniqueFd import_fd(HandleForm form, const IpcMemHandle& handle) {
  const int fd = handle_fd(handle);
  // A mirror that differs says that the importer put a descriptor of its own there.
  const bool differs = load<uint64_t>(handle, kOpaqueMirror) != load<uint64_t>(handle, 0);
  const bool own = form == HandleForm::classic || (form == HandleForm::opaque_mirror && differs);
  return own ? duplicate_fd(fd) : fd_of_process(load<int32_t>(handle, kOpaquePid), fd);
}

}  // namespace usm_ipc::ze
