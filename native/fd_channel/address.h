// Paths as socket addresses, and the name that a listener's socket has in the file system.
#pragma once

#include <sys/types.h>
#include <sys/un.h>

#include <string>

namespace usm_ipc {

// Throws Failure{argument} for a path that a socket address cannot hold beside `reserved` further bytes.
sockaddr_un socket_address(const std::string& path, size_t reserved = 0);

// The name of one bound socket. Removes it when it ends, if the name still is that socket's.
class BoundName {
 public:
  BoundName() = default;
  // Binds `socket` and makes it listen. The name appears at once with its final mode, never with a wider one, and never
  // takes the place of an existing file.
  BoundName(int socket, const std::string& path, mode_t mode, int backlog);
  BoundName(BoundName&& other) noexcept;
  BoundName& operator=(BoundName&& other) noexcept;
  ~BoundName() { remove(); }
  void remove() noexcept;

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace usm_ipc
