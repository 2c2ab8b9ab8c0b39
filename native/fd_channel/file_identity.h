#pragma once

#include <sys/stat.h>

namespace usm_ipc {

// Which file it is, whatever its name.
struct FileIdentity {
  FileIdentity() = default;
  explicit FileIdentity(const struct stat& status) : device(status.st_dev), inode(status.st_ino) {}
  bool operator==(const FileIdentity& other) const { return device == other.device && inode == other.inode; }

  dev_t device = 0;
  ino_t inode = 0;
};

}  // namespace usm_ipc
