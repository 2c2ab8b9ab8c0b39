// Memory files that a peer can neither shrink under a mapping (SIGBUS), nor grow, nor seal further.
#pragma once

#include <cstdint>

#include "backend.h"
#include "backends/host_handle.h"
#include "unique_fd.h"

namespace usm_ipc {

// Close-on-exec, of `nbytes`, not sealed yet.
UniqueFd create_memfd(uint64_t nbytes);

// With `read_only` no mapping or write() from now on can change the bytes; mappings that are writable already stay so.
void seal_memfd(int fd, bool read_only);

DescriptorEntry identity_of_memfd(int fd);

// Throws Failure{descriptor, ...} unless `fd` is the memfd that the handle names, sealed as the handle says, and has
// `nbytes` and the handle's size. Nothing is mapped before this has passed.
void check_memfd(int fd, const HostHandle& handle, uint64_t nbytes);

}  // namespace usm_ipc
