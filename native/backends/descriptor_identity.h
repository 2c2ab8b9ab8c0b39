// What a descriptor is, asked of the kernel: the kinds that an envelope can want beside a handle.
#pragma once

#include <cstdint>

#include "backend.h"

namespace usm_ipc {

// Kind and identity of a memory file or a dma-buf. Asks nothing of any other file: a peer's file system may answer when
// it likes. Throws Failure{descriptor, "descriptor-wrong-kind"} for anything else.
DescriptorEntry identity_of_descriptor(int fd);

// Throws Failure{descriptor, ...} unless `fd` is of a kind that a driver may import: a memory file that is sealed as ours
// are (SHRINK, GROW and SEAL), or a dma-buf; is `expected`, where that says something (inode not 0); and has at least
// `nbytes`. Returns its identity.
DescriptorEntry check_descriptor(int fd, const DescriptorEntry& expected, uint64_t nbytes);

// An inode of 0 names no file.
inline bool names_same_file(const DescriptorEntry& a, const DescriptorEntry& b) {
  return a.inode != 0 && a.inode == b.inode && a.device == b.device;
}

// A duplicate of a driver's own descriptor for the memory. Throws Failure{state, "memory-gone"} where that number is
// another file by now: the memory was freed, by whoever owns it, while a handle of it was out.
UniqueFd duplicate_of_memory(const char* backend, int fd, const Memory& memory);

}  // namespace usm_ipc
