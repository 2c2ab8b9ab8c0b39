// Paths as socket addresses. An address holds a path of 107 bytes; a longer one is reached through its file, or its
// directory, once that is open: by the short name that /proc has for every descriptor.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "failure.h"

namespace usm_ipc {

// Throws Failure{argument} for a path that no file can have.
void check_path(const std::string& path);

bool fits_address(const std::string& path);
// Of a path that fits.
sockaddr_un socket_address(const std::string& path);

// A descriptor's own path. ENOENT from a call on it means that /proc is missing: see no_proc().
std::string proc_path(int fd);
Failure no_proc(const std::string& path);
// What the system said about a path that is longer than it takes.
Failure path_too_long(const std::string& path);

}  // namespace usm_ipc
