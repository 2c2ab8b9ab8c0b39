#include "fd_channel/address.h"

#include <climits>
#include <cstring>

namespace usm_ipc {

void check_path(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos)
    throw Failure(FailureKind::argument, "invalid-path", "a socket's path is not empty and has no zero bytes");
  if (path.size() >= PATH_MAX) throw path_too_long(path);
}

bool fits_address(const std::string& path) { return path.size() < sizeof sockaddr_un{}.sun_path; }

sockaddr_un socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

std::string proc_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

Failure no_proc(const std::string& path) {
  return Failure(FailureKind::argument, "path-too-long",
                 "a socket's path of more than " + std::to_string(sizeof sockaddr_un{}.sun_path - 1) + " bytes, " +
                     path + ", is reached through /proc, which is not mounted for this process: mount it, or use a " +
                     "shorter directory");
}

Failure path_too_long(const std::string& path) {
  return Failure(FailureKind::argument, "path-too-long",
                 "the file system takes no path this long: it has " + std::to_string(path.size()) +
                     " bytes, and a name in it may have 255, all of it 4095");
}

}  // namespace usm_ipc
