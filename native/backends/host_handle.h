// The host backend's vendor handle: 32 bytes of our own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "failure.h"
#include "little_endian.h"

namespace usm_ipc {

constexpr size_t kHostHandleSize = 32;

// u64 device, u64 inode, u64 nbytes, i32 descriptor, u32 flags
struct HostHandle {
  uint64_t device;  // st_dev and st_ino of the memfd
  uint64_t inode;
  uint64_t nbytes;
  int32_t descriptor;  // its number in the exporter: a hint for pidfd_getfd, never used as a descriptor here
  bool read_only;      // bit 0 of the flags; the others are zero
};

inline void write_host_handle(const HostHandle& handle, uint8_t* to) {
  store_little_endian<uint64_t>(to, handle.device);
  store_little_endian<uint64_t>(to + 8, handle.inode);
  store_little_endian<uint64_t>(to + 16, handle.nbytes);
  store_little_endian<uint32_t>(to + 24, static_cast<uint32_t>(handle.descriptor));
  store_little_endian<uint32_t>(to + 28, handle.read_only ? 1 : 0);
}

inline HostHandle read_host_handle(const uint8_t* from, size_t size) {
  const auto fail = [](const char* what) {
    throw Failure(FailureKind::argument, "invalid-vendor-handle", std::string("the host backend's vendor handle ") + what);
  };
  if (size != kHostHandleSize) fail("has 32 bytes");
  const auto flags = load_little_endian<uint32_t>(from + 28);
  if (flags > 1) fail("has no flag but bit 0");
  const HostHandle handle{load_little_endian<uint64_t>(from), load_little_endian<uint64_t>(from + 8),
                          load_little_endian<uint64_t>(from + 16),
                          static_cast<int32_t>(load_little_endian<uint32_t>(from + 24)), flags == 1};
  if (handle.nbytes == 0) fail("has a size above 0");
  return handle;
}

}  // namespace usm_ipc
