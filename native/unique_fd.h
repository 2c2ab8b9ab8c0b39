#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace usm_ipc {

// One owner for one file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  // Linux frees the number even when close() is interrupted: never retried.
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

// An invalid UniqueFd and errno when that fails. Never 0 to 2: whoever closed those did not mean stdout to become this.
inline UniqueFd duplicate_fd(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)); }
inline UniqueFd above_stdio(UniqueFd fd) {
  return fd.get() < 0 || fd.get() > 2 ? std::move(fd) : duplicate_fd(fd.get());
}

}  // namespace usm_ipc
