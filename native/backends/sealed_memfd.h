// Memory files that a peer can neither shrink under a mapping (SIGBUS), nor grow, nor seal further.
#pragma once

#include <cstdint>
#include <string>

#include "backend.h"
#include "backends/host_handle.h"
#include "failure.h"
#include "unique_fd.h"

namespace usm_ipc {

// Close-on-exec, of `nbytes`, not sealed yet.
UniqueFd create_memfd(uint64_t nbytes);

// With `read_only` no mapping or write() from now on can change the bytes; mappings that are writable already stay so.
void seal_memfd(int fd, bool read_only);

DescriptorEntry identity_of_memfd(int fd);

// The seals of a file that has some; -1 for any other, which nothing else has been asked then: a stat may be answered
// by a peer (FUSE), when it likes.
int seals_of(int fd);

// Throws Failure{descriptor, ...} unless `fd`, whose seals these are, is the memfd `expected` (inode 0: any), is sealed
// as ours are and has `nbytes`. Returns its identity. Nothing is mapped before this has passed.
DescriptorEntry check_sealed(int fd, int seals, const DescriptorEntry& expected, bool read_only, uint64_t nbytes);

// The same of the memfd that a host handle names.
void check_memfd(int fd, const HostHandle& handle, uint64_t nbytes);

// Failure{descriptor, "descriptor-wrong-kind"}
Failure wrong_kind(const std::string& what, const char* wanted);

}  // namespace usm_ipc
