#pragma once

#include <poll.h>

#include <cerrno>
#include <cstdint>

#include "unique_fd.h"

namespace usm_ipc {

// A duplicate of descriptor `fd` of another process, taken only after that process has been proven, through a pidfd,
// to be the one meant: same start time, same pid namespace as ours and as given, alive after both were read.
// Throws Failure{peer, "exporter-gone" | "other-pid-namespace"}, or driver with advice where the kernel refuses.
UniqueFd descriptor_of(int pid, uint64_t start_time, uint64_t pid_namespace, int fd);

// The same where nothing but the pid is known (a raw handle): of whoever has that pid now, in our own pid namespace.
UniqueFd descriptor_of_pid(int pid, int fd);

// Whether the process has: its exit is seen before its parent has reaped it.
inline bool has_exited(const UniqueFd& pidfd) {
  pollfd poll{pidfd.get(), POLLIN, 0};
  int ready;
  do {
    ready = ::poll(&poll, 1, 0);
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

}  // namespace usm_ipc
