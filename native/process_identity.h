// Who a process is. A pid alone is not an identity: it is reused, and it means something else in another pid namespace.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace usm_ipc {

using BootId = std::array<uint8_t, 16>;

struct ProcessIdentity {
  int pid;
  uint64_t start_time;     // clock ticks since boot
  uint64_t pid_namespace;  // inode
  BootId boot_id;
};

ProcessIdentity process_identity();
BootId boot_id();

// The whole of a /proc file. Throws a system failure.
std::string read_proc(const std::string& path);

// Of the process whose folder this is, "/proc/self" or "/proc/12".
uint64_t start_time_of(const std::string& folder);
uint64_t pid_namespace_of(const std::string& folder);

}  // namespace usm_ipc
