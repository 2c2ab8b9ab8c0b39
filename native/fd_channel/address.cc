#include "fd_channel/address.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include "failure.h"
#include "unique_fd.h"

namespace usm_ipc {
namespace {

constexpr const char* kBackend = "fd_channel";
constexpr size_t kSuffix = 17;  // '.', a pid of at most 7 digits, '-', 8 hexadecimal digits

std::string temporary_name(const std::string& path) {
  char random[9];
  std::snprintf(random, sizeof random, "%08x", std::random_device{}());
  return path + '.' + std::to_string(::getpid()) + '-' + random;
}

struct Unlink {
  const std::string& name;
  ~Unlink() { ::unlink(name.c_str()); }
};

// The mode is set through a descriptor: were the name swapped for a link, nothing else may get the mode.
void set_mode(const UniqueFd& file, const struct stat& status, mode_t mode) {
  if ((status.st_mode & 07777) == mode) return;
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  if (::chmod(path.c_str(), mode) != 0) throw system_failure(kBackend, "chmod", errno);
}

std::string taken_advice(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) {
    return path +
           " belongs to another listener: choose another path; or, if connecting to it is refused, its listener has "
           "ended without removing it: remove it";
  }
  return path + " exists and is no socket: choose another path";
}

const char* bind_advice(int error) {
  switch (error) {
    case ENOENT: return "the path's directory does not exist";
    case EACCES: return "this user may not make files in the path's directory";
    case EROFS: return "the path's directory is on a read-only file system";
    default: return "";
  }
}

}  // namespace

sockaddr_un socket_address(const std::string& path, size_t reserved) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t longest = sizeof address.sun_path - 1 - reserved;
  if (path.empty() || path.find('\0') != std::string::npos) {
    throw Failure(FailureKind::argument, "invalid-path", "a socket's path is not empty and has no zero bytes");
  }
  if (path.size() > longest) {
    throw Failure(FailureKind::argument, "path-too-long",
                  "a socket's path has at most " + std::to_string(longest) + " bytes here, this one has " +
                      std::to_string(path.size()) + ": use a shorter directory");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

BoundName::BoundName(int socket, const std::string& path, mode_t mode, int backlog) {
  socket_address(path, kSuffix);
  const std::string temporary = temporary_name(path);
  const sockaddr_un address = socket_address(temporary);
  // bind() gives the file the socket's own mode, less the umask: so it starts with `mode` or with less.
  if (::fchmod(socket, mode) != 0) throw system_failure(kBackend, "fchmod", errno);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw system_failure(kBackend, "bind", errno, bind_advice(errno));
  }
  const Unlink unlink{temporary};
  const UniqueFd file(::open(temporary.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) throw system_failure(kBackend, "open", errno);
  if (!S_ISSOCK(status.st_mode))
    throw system_failure(kBackend, "open", ENOTSOCK, "another program replaced the new socket");
  set_mode(file, status, mode);
  if (::listen(socket, backlog) != 0) throw system_failure(kBackend, "listen", errno);
  if (::link(temporary.c_str(), path.c_str()) != 0) {
    if (errno == EEXIST) {
      Failure taken = system_failure(kBackend, "bind", EADDRINUSE, taken_advice(path));
      taken.reason = "address-in-use";
      throw taken;
    }
    throw system_failure(kBackend, "link", errno, "the path's file system must have hard links");
  }
  path_ = path;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

BoundName::BoundName(BoundName&& other) noexcept
    : path_(std::exchange(other.path_, {})), device_(other.device_), inode_(other.inode_) {}

BoundName& BoundName::operator=(BoundName&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
    device_ = other.device_;
    inode_ = other.inode_;
  }
  return *this;
}

void BoundName::remove() noexcept {
  if (path_.empty()) return;
  struct stat status{};
  if (::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_)
    ::unlink(path_.c_str());
  path_.clear();
}

}  // namespace usm_ipc
