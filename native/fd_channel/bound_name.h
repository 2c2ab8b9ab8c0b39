// The name that a listener's socket has in the file system.
#pragma once

#include <sys/types.h>

#include <string>

#include "fd_channel/file_identity.h"

namespace usm_ipc {

// What to do where the path exists.
enum class Existing : uint8_t {
  keep,          // refuse, whatever it is
  replace_dead,  // take the place of a socket of this user's that nobody answers on; refuse everything else
};

// The name of one bound socket. Removes it when it ends, if the name still is that socket's, which
// is closed after it.
class BoundName {
 public:
  BoundName() = default;
  // Binds `socket` and makes it listen. The name appears at once with its final mode, never with a wider one, when the
  // socket can be connected to. To replace a dead one takes a lock, for which it waits at most two seconds.
  BoundName(int socket, const std::string& path, mode_t mode, int backlog, Existing existing = Existing::keep);
  BoundName(BoundName&& other) noexcept;
  BoundName& operator=(BoundName&& other) noexcept;
  ~BoundName() { remove(); }
  void remove() noexcept;

 private:
  std::string path_;
  FileIdentity identity_;
};

}  // namespace usm_ipc
