#include "fd_channel/dead_socket.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>

#include "failure.h"
#include "fault.h"
#include "fd_channel/address.h"
#include "fd_channel/peer.h"
#include "fd_channel/socket.h"

namespace usm_ipc {
namespace {

constexpr const char* kBackend = "fd_channel";
constexpr auto kLockTime = std::chrono::seconds(2);
constexpr auto kLockRetry = std::chrono::milliseconds(1);

Failure fail(const char* reason, const std::string& advice) {
  Failure failure = system_failure(kBackend, "bind", EADDRINUSE, advice);
  failure.reason = reason;
  return failure;
}

// The listener is the process that called listen(): a child that still has the socket does not count.
bool is_answered(const UniqueFd& file, const std::string& path) {
  const UniqueFd socket = new_socket();
  switch (try_connect(socket.get(), socket_address(proc_path(file.get())))) {
    case 0: return peer_process(socket.get()).state != PeerState::exited;
    case ECONNREFUSED: return false;
    case ENOENT:
      throw system_failure(kBackend, "connect", ENOENT,
                           "whether anybody answers on " + path + " is found out through /proc, which is not mounted");
    default: return true;  // its backlog is full, it is of another type, or nothing can be told
  }
}

// 0 where /proc is missing.
uint64_t pid_namespace() {
  struct stat status{};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

// Of another pid namespace, a pid says nothing.
bool is_of_dead_process(const char* name) {
  int pid = 0;
  unsigned long long space = 0;
  unsigned random = 0;
  int length = 0;
  if (std::sscanf(name, ".usm-ipc-%d-%llu-%8x%n", &pid, &space, &random, &length) != 3 || name[length] != '\0')
    return false;
  return pid > 0 && space != 0 && space == pid_namespace() && ::kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace

std::optional<DeadSocket> dead_socket(const UniqueFd& directory, const std::string& name, const std::string& path) {
  fault_point("channel.probe");
  UniqueFd file(::openat(directory.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::nullopt;
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) throw system_failure(kBackend, "open", errno);
  if (!S_ISSOCK(status.st_mode)) {
    throw fail("not-a-socket", path + " exists and is no socket, which is never replaced: choose another path");
  }
  if (status.st_uid != ::geteuid()) {
    throw fail("foreign-socket", path + " is a socket of user " + std::to_string(status.st_uid) +
                                     "'s, which is not replaced: choose another path");
  }
  if (is_answered(file, path)) {
    throw fail("address-in-use", path + " belongs to a listener that is running: choose another path");
  }
  return DeadSocket{std::move(file), FileIdentity(status)};
}

DirectoryLock::DirectoryLock(const UniqueFd& directory) : directory_(directory.get()) {
  const auto deadline = std::chrono::steady_clock::now() + kLockTime;
  while (::flock(directory_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) throw system_failure(kBackend, "flock", errno);
    if (std::chrono::steady_clock::now() >= deadline) {
      Failure failure = system_failure(kBackend, "flock", EWOULDBLOCK,
                                       "another process has held a lock on the socket's directory for two seconds: use "
                                       "a directory of this user's own");
      failure.reason = "directory-locked";
      throw failure;
    }
    std::this_thread::sleep_for(kLockRetry);
  }
}

// Aloud: a forked child may have a copy of the descriptor, which would keep the lock.
DirectoryLock::~DirectoryLock() { ::flock(directory_, LOCK_UN); }

std::string temporary_name() {
  char name[64];
  std::snprintf(name, sizeof name, ".usm-ipc-%d-%llu-%08x", ::getpid(),
                static_cast<unsigned long long>(pid_namespace()), std::random_device{}());
  return name;
}

void remove_stale_names(const UniqueFd& directory) {
  UniqueFd copy(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy ? ::fdopendir(copy.get()) : nullptr, ::closedir);
  if (!entries) return;
  copy.release();
  while (const dirent* entry = ::readdir(entries.get())) {
    if (!is_of_dead_process(entry->d_name)) continue;
    struct stat status{};
    if (::fstatat(directory.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISSOCK(status.st_mode) && status.st_uid == ::geteuid()) ::unlinkat(directory.get(), entry->d_name, 0);
  }
}

}  // namespace usm_ipc
