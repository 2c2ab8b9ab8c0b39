#include "fd_channel/bound_name.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include "failure.h"
#include "fault.h"
#include "fd_channel/address.h"
#include "fd_channel/dead_socket.h"
#include "unique_fd.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE (1 << 0)
#define RENAME_EXCHANGE (1 << 1)
#endif

namespace usm_ipc {
namespace {

constexpr const char* kBackend = "fd_channel";
constexpr int kTries = 16;  // of placing the name while others remove and make it

const char* directory_advice(int error) {
  switch (error) {
    case ENOENT: return "the path's directory does not exist";
    case ENOTDIR: return "a part of the path is not a directory";
    case EACCES: return "this user may not read the path's directory, or one above it";
    default: return "";
  }
}

const char* bind_advice(int error) {
  switch (error) {
    case ENOENT: return "the path's directory does not exist";
    case EACCES: return "this user may not make files in the path's directory";
    case EROFS: return "the path's directory is on a read-only file system";
    default: return "";
  }
}

std::string taken_advice(const UniqueFd& directory, const std::string& name, const std::string& path) {
  struct stat status{};
  if (::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(status.st_mode)) {
    return path +
           " belongs to another listener: choose another path; or, if connecting to it is refused, its listener has "
           "ended without removing it: replace it (replace: 'dead'), or remove it";
  }
  return path + " exists and is no socket: choose another path";
}

Failure in_use(const std::string& advice) {
  Failure taken = system_failure(kBackend, "bind", EADDRINUSE, advice);
  taken.reason = "address-in-use";
  return taken;
}

int rename_in(const UniqueFd& directory, const std::string& from, const std::string& to, unsigned flags) {
  return static_cast<int>(
      ::syscall(SYS_renameat2, directory.get(), from.c_str(), directory.get(), to.c_str(), flags));
}

// A new socket on its way to its name: all in the directory that the path is in, by names that are relative to it.
class Placing {
 public:
  Placing(const std::string& path, bool lock) : path_(path), temporary_(temporary_name()) {
    const size_t slash = path.rfind('/');
    prefix_ = path.substr(0, slash == std::string::npos ? 0 : slash + 1);
    name_ = path.substr(prefix_.size());
    const int access = lock ? O_RDONLY : O_PATH;
    directory_ = UniqueFd(::open(prefix_.empty() ? "." : prefix_.c_str(), access | O_DIRECTORY | O_CLOEXEC));
    if (!directory_ && errno == ENAMETOOLONG) throw path_too_long(path);
    if (!directory_) throw system_failure(kBackend, "open", errno, directory_advice(errno));
    if (lock) lock_.emplace(directory_);
  }

  ~Placing() {
    if (bound_) ::unlinkat(directory_.get(), temporary_.c_str(), 0);
  }

  void bind(int socket) {
    std::string name = prefix_ + temporary_;
    const bool fits = fits_address(name);
    if (!fits) name = proc_path(directory_.get()) + '/' + temporary_;
    const sockaddr_un address = socket_address(name);
    if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      if (errno == ENOENT && !fits) throw no_proc(path_);
      throw system_failure(kBackend, "bind", errno, bind_advice(errno));
    }
    bound_ = true;
  }

  // Through a descriptor: were the name swapped for a link, nothing else may get the mode.
  void set_mode(mode_t mode) {
    fault_point("channel.mode");
    const UniqueFd file(::openat(directory_.get(), temporary_.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{};
    if (!file || ::fstat(file.get(), &status) != 0) throw system_failure(kBackend, "open", errno);
    if (!S_ISSOCK(status.st_mode))
      throw system_failure(kBackend, "open", ENOTSOCK, "another program replaced the new socket");
    if ((status.st_mode & 07777) != mode && ::chmod(proc_path(file.get()).c_str(), mode) != 0)
      throw system_failure(kBackend, "chmod", errno);
    identity_ = FileIdentity(status);
  }

  // After set_mode().
  const FileIdentity& identity() const { return identity_; }

  void place(Existing existing) {
    fault_point("channel.place");
    if (existing == Existing::replace_dead) remove_stale_names(directory_);
    for (int i = 0; i < kTries; ++i) {
      if (take_free_name()) return;
      if (existing == Existing::keep) throw in_use(taken_advice(directory_, name_, path_));
      const std::optional<DeadSocket> dead = dead_socket(directory_, name_, path_);
      if (dead && take_name_of(dead->identity)) return;
    }
    throw in_use(path_ + " is made and removed by other programs: choose another path");
  }

 private:
  bool take_free_name() {
    int result = rename_in(directory_, temporary_, name_, RENAME_NOREPLACE);
    const bool cannot = result != 0 && (errno == EINVAL || errno == ENOSYS);  // this file system, or kernel
    if (cannot) result = ::linkat(directory_.get(), temporary_.c_str(), directory_.get(), name_.c_str(), 0);
    if (result == 0) return true;
    if (errno == EEXIST) return false;
    if (errno == ENAMETOOLONG) throw path_too_long(path_);
    throw system_failure(kBackend, cannot ? "link" : "rename", errno);
  }

  // An exchange, and then a look at what was exchanged: a program without the lock may have put another socket there.
  bool take_name_of(const FileIdentity& dead) {
    fault_point("channel.replace");
    if (rename_in(directory_, temporary_, name_, RENAME_EXCHANGE) != 0) {
      if (errno == ENOENT) return false;
      throw system_failure(kBackend, "rename", errno, "the path's file system must be able to exchange two names");
    }
    fault_point("channel.replaced");
    if (temporary_is(dead)) return true;
    // Back. If others have changed the name once more, what comes back is theirs too, and not for us to remove.
    if (rename_in(directory_, temporary_, name_, RENAME_EXCHANGE) == 0 && temporary_is(identity_)) return false;
    bound_ = false;
    throw in_use(path_ + " is made and removed by other programs: choose another path");
  }

  bool temporary_is(const FileIdentity& identity) const {
    struct stat status{};
    return ::fstatat(directory_.get(), temporary_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           FileIdentity(status) == identity;
  }

  const std::string& path_;
  const std::string temporary_;
  std::string prefix_;
  std::string name_;
  UniqueFd directory_;
  std::optional<DirectoryLock> lock_;
  FileIdentity identity_;
  bool bound_ = false;  // there is something under the temporary name, and it is ours to remove
};

}  // namespace

BoundName::BoundName(int socket, const std::string& path, mode_t mode, int backlog, Existing existing) {
  check_path(path);
  Placing placing(path, existing == Existing::replace_dead);
  // bind() gives the file the socket's own mode, less the umask: so it starts with `mode` or with less.
  if (::fchmod(socket, mode) != 0) throw system_failure(kBackend, "fchmod", errno);
  placing.bind(socket);
  placing.set_mode(mode);
  if (::listen(socket, backlog) != 0) throw system_failure(kBackend, "listen", errno);
  placing.place(existing);
  path_ = path;
  identity_ = placing.identity();
}

BoundName::BoundName(BoundName&& other) noexcept
    : path_(std::exchange(other.path_, {})), identity_(other.identity_) {}

BoundName& BoundName::operator=(BoundName&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
    identity_ = other.identity_;
  }
  return *this;
}

// The socket, which is still open, keeps its file's inode: no other file has that number.
void BoundName::remove() noexcept {
  if (path_.empty()) return;
  struct stat status{};
  if (::lstat(path_.c_str(), &status) == 0 && FileIdentity(status) == identity_) ::unlink(path_.c_str());
  path_.clear();
}

}  // namespace usm_ipc
