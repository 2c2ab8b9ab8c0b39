#include "backends/sycl_handle.h"

#include <unistd.h>

#include <cstring>
#include <string>

#include "failure.h"
#include "little_endian.h"

namespace usm_ipc {
namespace {

// UMF's head, the same in both layouts.
constexpr size_t kId = 0;
constexpr size_t kBase = 8;
constexpr size_t kPid = 16;
constexpr size_t kNbytes = 24;
constexpr size_t kOffset = 32;
// The adapter's part.
constexpr size_t kInnerPid = 40;
constexpr size_t kV2InnerNbytes = 48;
constexpr size_t kV1LevelZero = 44;
constexpr size_t kV2LevelZero = 56;

size_t level_zero_at(Layout layout) {
  return layout == Layout::sycl_umf_level_zero_v2 ? kV2LevelZero : kV1LevelZero;
}

}  // namespace

Layout sycl_layout(size_t size) {
  if (size == kSyclV2HandleSize) return Layout::sycl_umf_level_zero_v2;
  if (size == kSyclV1HandleSize) return Layout::sycl_umf_level_zero_v1;
  throw Failure(FailureKind::argument, "invalid-vendor-handle",
                "a SYCL handle over Level Zero has 120 bytes (adapter v2) or 108 (v1), not " + std::to_string(size));
}

size_t sycl_handle_size(Layout layout) {
  return layout == Layout::sycl_umf_level_zero_v2 ? kSyclV2HandleSize : kSyclV1HandleSize;
}

SyclHandle read_sycl_handle(const uint8_t* bytes, size_t size) {
  const Layout layout = sycl_layout(size);
  SyclHandle handle;
  handle.id = load_little_endian<uint64_t>(bytes + kId);
  handle.base = load_little_endian<uint64_t>(bytes + kBase);
  handle.pid = static_cast<int32_t>(load_little_endian<uint32_t>(bytes + kPid));
  handle.nbytes = load_little_endian<uint64_t>(bytes + kNbytes);
  handle.offset = load_little_endian<uint64_t>(bytes + kOffset);
  std::memcpy(handle.level_zero, bytes + level_zero_at(layout), kLevelZeroHandleSize);
  return handle;
}

void write_own_sycl_handle(const SyclHandle& handle, Layout layout, uint8_t* out) {
  const auto pid = static_cast<uint32_t>(::getpid());
  std::memset(out, 0, sycl_handle_size(layout));
  store_little_endian(out + kId, handle.id);
  store_little_endian(out + kBase, handle.base);
  store_little_endian(out + kPid, pid);
  store_little_endian(out + kNbytes, handle.nbytes);
  store_little_endian(out + kOffset, handle.offset);
  store_little_endian(out + kInnerPid, pid);
  if (layout == Layout::sycl_umf_level_zero_v2) store_little_endian(out + kV2InnerNbytes, handle.nbytes);
  std::memcpy(out + level_zero_at(layout), handle.level_zero, kLevelZeroHandleSize);
}

}  // namespace usm_ipc
