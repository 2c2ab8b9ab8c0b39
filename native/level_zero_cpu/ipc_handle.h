// The 64 bytes that name an allocation to another process, in the forms of Intel's drivers (docs/wire-format.md).
#pragma once

#include "level_zero_cpu/config.h"
#include "unique_fd.h"

namespace usm_ipc::ze {

// Of the byte in the handle.
constexpr uint8_t kHandleOfDeviceMemory = 0;
constexpr uint8_t kHandleOfHostMemory = 1;

IpcMemHandle write_handle(HandleForm form, int fd, uint8_t memory_type);
uint64_t handle_pool_offset(const IpcMemHandle& handle);
int handle_fd(const IpcMemHandle& handle);
uint8_t handle_memory_type(HandleForm form, const IpcMemHandle& handle);

// A descriptor of the importing process for the file that the handle names, found as Intel's driver finds it: no check
// that the file is the right one. Invalid where there is none.
UniqueFd import_fd(HandleForm form, const IpcMemHandle& handle);

}  // namespace usm_ipc::ze
