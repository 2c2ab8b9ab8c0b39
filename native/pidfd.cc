#include "pidfd.h"

#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "failure.h"
#include "fault.h"
#include "process_identity.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

namespace usm_ipc {
namespace {

const char* const kUseChannel = "have the descriptor sent over an FdChannel instead";

Failure exporter_gone(int pid) {
  return Failure(FailureKind::peer, "exporter-gone",
                 "process " + std::to_string(pid) + ", which exported this, is gone (its pid may have been reused)");
}

Failure other_namespace(int pid) {
  return Failure(FailureKind::peer, "other-pid-namespace",
                 "process " + std::to_string(pid) + " is in another pid namespace, where its pid means another " +
                     "process; " + kUseChannel);
}

bool is_permission(int64_t error) { return error == EPERM || error == EACCES; }

Failure no_permission(const char* call, int error) {
  return system_failure(
      "system", call, error,
      std::string("this needs ptrace permission over the exporter, which a non-dumpable process, another user's, Yama, "
                  "or Docker's default seccomp profile without CAP_SYS_PTRACE do not give; ") +
          kUseChannel);
}

UniqueFd open_pidfd(int pid) {
  fault_point("pidfd.open");
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0u)));
  if (pidfd) return pidfd;
  switch (errno) {
    case ESRCH:
    case EINVAL:  // the pid is a thread's now: reused
    case ENOENT:  // the same, from newer kernels
      throw exporter_gone(pid);
    case ENOSYS:
      throw system_failure("system", "pidfd_open", ENOSYS, std::string("Linux 5.6 or newer has it; ") + kUseChannel);
    default:
      throw system_failure("system", "pidfd_open", errno, kUseChannel);
  }
}

// Its folder in the /proc that is mounted here, which may count pids of another namespace than ours.
std::string folder_of(const UniqueFd& pidfd, int pid) {
  const std::string info = read_proc("/proc/self/fdinfo/" + std::to_string(pidfd.get()));
  const std::string label = "\nPid:";
  const size_t at = info.find(label);
  const int shown = at == std::string::npos ? 0 : std::atoi(info.c_str() + at + label.size());
  if (shown < 0) throw exporter_gone(pid);
  if (shown == 0) throw other_namespace(pid);
  return "/proc/" + std::to_string(shown);
}

// What /proc says is about the pidfd's process only while that lives: hence the last look.
void check_identity(const UniqueFd& pidfd, int pid, uint64_t start_time, uint64_t pid_namespace) {
  fault_point("pidfd.identity");
  uint64_t actual_start = 0;
  uint64_t actual_namespace = 0;
  try {
    const std::string folder = folder_of(pidfd, pid);
    actual_start = start_time_of(folder);
    if (actual_start == start_time) actual_namespace = pid_namespace_of(folder);
  } catch (const Failure& failure) {
    if (has_exited(pidfd)) throw exporter_gone(pid);
    if (is_permission(failure.number)) throw no_permission("stat", static_cast<int>(failure.number));
    throw;
  }
  if (has_exited(pidfd) || actual_start != start_time) throw exporter_gone(pid);
  if (actual_namespace != pid_namespace) throw other_namespace(pid);
}

void check_arguments(int pid, int fd) {
  if (pid <= 0) throw Failure(FailureKind::argument, "invalid-pid", "a pid is above 0");
  if (fd < 0) throw Failure(FailureKind::argument, "invalid-descriptor", "a descriptor number is 0 or above");
}

UniqueFd fetch(const UniqueFd& pidfd, int pid, int fd) {
  fault_point("pidfd.getfd");
  UniqueFd duplicate(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd.get(), fd, 0u)));  // close-on-exec by default
  if (duplicate) duplicate = above_stdio(std::move(duplicate));
  if (duplicate) return duplicate;
  switch (errno) {
    case ESRCH:
      throw exporter_gone(pid);
    case EBADF:
      throw system_failure("system", "pidfd_getfd", EBADF, "the exporter has closed that descriptor");
    case EPERM:
    case EACCES:
      throw no_permission("pidfd_getfd", errno);
    case ENOSYS:
      throw system_failure("system", "pidfd_getfd", ENOSYS, std::string("Linux 5.6 or newer has it; ") + kUseChannel);
    default:
      throw system_failure("system", "pidfd_getfd", errno, kUseChannel);
  }
}

}  // namespace

UniqueFd descriptor_of(int pid, uint64_t start_time, uint64_t pid_namespace, int fd) {
  check_arguments(pid, fd);
  if (pid_namespace_of("/proc/self") != pid_namespace) throw other_namespace(pid);
  const UniqueFd pidfd = open_pidfd(pid);
  check_identity(pidfd, pid, start_time, pid_namespace);
  return fetch(pidfd, pid, fd);
}

UniqueFd descriptor_of_pid(int pid, int fd) {
  check_arguments(pid, fd);
  return fetch(open_pidfd(pid), pid, fd);
}

}  // namespace usm_ipc
