// Sockets that their listeners have left behind, and the lock under which one is replaced.
#pragma once

#include <optional>
#include <string>

#include "fd_channel/file_identity.h"
#include "unique_fd.h"

namespace usm_ipc {

struct DeadSocket {
  UniqueFd file;  // open: otherwise another file could get its inode's number
  FileIdentity identity;
};

// The file of that name, when it is a socket of this user's whose listener has ended; nothing when there is none any
// more. Throws for every other file: Failure{driver} "not-a-socket", "foreign-socket", "address-in-use".
std::optional<DeadSocket> dead_socket(const UniqueFd& directory, const std::string& name, const std::string& path);

// All who replace sockets in a directory, one after the other. Anybody who may read the directory can hold this lock for
// as long as they like: it is waited for two seconds.
class DirectoryLock {
 public:
  explicit DirectoryLock(const UniqueFd& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  const int directory_;
};

// The name of a new socket that is not in its place yet. It says whose it is, so that it can be removed if that dies.
std::string temporary_name();
// Removes those of processes that have died.
void remove_stale_names(const UniqueFd& directory);

}  // namespace usm_ipc
