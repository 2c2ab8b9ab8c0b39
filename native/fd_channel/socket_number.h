// Which descriptor numbers are channels' and listeners' sockets, in the whole process: what has an owner here is not to
// be adopted again, because the second owner's close would hit whatever has the number by then.
#pragma once

#include <utility>

namespace usm_ipc {

class SocketNumber {
 public:
  SocketNumber() = default;
  explicit SocketNumber(int fd);
  SocketNumber(SocketNumber&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  SocketNumber& operator=(SocketNumber&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  SocketNumber(const SocketNumber&) = delete;
  SocketNumber& operator=(const SocketNumber&) = delete;
  ~SocketNumber() { reset(); }

  // Before the socket is closed: afterwards the number may be another's.
  void reset() noexcept;

  static bool is_taken(int fd);

 private:
  int fd_ = -1;
};

}  // namespace usm_ipc
