// pidfd_open and pidfd_getfd against processes of our own. What runs after fork() calls nothing but system calls.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "doctor/kernel.h"
#include "failure.h"
#include "unique_fd.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

namespace usm_ipc::doctor {
namespace {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_failure("system", "pipe2", errno);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

pid_t fork_process() {
  const pid_t pid = ::fork();
  if (pid < 0) throw system_failure("system", "fork", errno);
  if (pid == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return pid;
}

ssize_t read_whole(int fd, void* to, size_t size) {
  ssize_t n;
  do {
    n = ::read(fd, to, size);
  } while (n < 0 && errno == EINTR);
  return n;
}

void reap(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

PidfdAnswer take(pid_t pid, int fd) {
  PidfdAnswer answer;
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0u));
  answer.open = pidfd < 0 ? errno : 0;
  if (pidfd < 0) return answer;
  const int duplicate = static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd, fd, 0u));
  answer.getfd = duplicate < 0 ? errno : 0;
  if (duplicate >= 0) ::close(duplicate);
  ::close(pidfd);
  return answer;
}

// A process that waits until its owner is destroyed.
class Target {
 public:
  explicit Target(bool dumpable) {
    Pipe hold = make_pipe();
    Pipe ready = make_pipe();
    pid_ = fork_process();
    if (pid_ == 0) {
      ::close(hold.write.get());
      if (!dumpable) ::prctl(PR_SET_DUMPABLE, 0);
      char byte = 1;
      const bool told = ::write(ready.write.get(), &byte, 1) == 1;
      ::_exit(told && read_whole(hold.read.get(), &byte, 1) == 0 ? 0 : 1);
    }
    hold_ = std::move(hold.write);
    ready.write.reset();
    char byte;
    read_whole(ready.read.get(), &byte, 1);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target() {
    hold_.reset();
    reap(pid_);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
  UniqueFd hold_;
};

PidfdAnswer take_from_sibling(pid_t target, int fd) {
  Pipe result = make_pipe();
  const pid_t prober = fork_process();
  if (prober == 0) {
    const PidfdAnswer answer = take(target, fd);
    ::_exit(::write(result.write.get(), &answer, sizeof answer) == sizeof answer ? 0 : 1);
  }
  result.write.reset();
  PidfdAnswer answer;
  if (read_whole(result.read.get(), &answer, sizeof answer) != sizeof answer) answer = {};
  reap(prober);
  return answer;
}

}  // namespace

PidfdAnswers try_pidfd() {
  const Pipe file = make_pipe();
  const int fd = file.read.get();
  PidfdAnswers answers;
  answers.self = take(::getpid(), fd);
  {
    const Target target(true);
    answers.child = take(target.pid(), fd);
    answers.sibling = take_from_sibling(target.pid(), fd);
  }
  const Target target(false);
  answers.non_dumpable = take(target.pid(), fd);
  return answers;
}

}  // namespace usm_ipc::doctor
