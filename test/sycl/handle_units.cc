// What the backend does with handles before the runtime sees them, without a runtime.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <set>

#include "backends/sycl_base_values.h"
#include "backends/sycl_handle.h"
#include "failure.h"

using namespace usm_ipc;

#define EXPECT(condition)                                        \
  do {                                                           \
    if (!(condition)) {                                          \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      return 1;                                                  \
    }                                                            \
  } while (false)

namespace {

int handles() {
  uint8_t v2[kSyclV2HandleSize];
  for (size_t i = 0; i < sizeof v2; i++) v2[i] = static_cast<uint8_t>(i + 1);
  const SyclHandle read = read_sycl_handle(v2, sizeof v2);
  EXPECT(read.id == 0x0807060504030201 && read.base == 0x100f0e0d0c0b0a09 && read.pid == 0x14131211);
  EXPECT(read.nbytes == 0x201f1e1d1c1b1a19 && read.offset == 0x2827262524232221);
  EXPECT(std::memcmp(read.level_zero, v2 + 56, kLevelZeroHandleSize) == 0);

  uint8_t v1[kSyclV1HandleSize];
  write_own_sycl_handle(read, Layout::sycl_umf_level_zero_v1, v1);
  const auto pid = static_cast<int32_t>(::getpid());
  EXPECT(std::memcmp(v1, v2, 16) == 0 && std::memcmp(v1 + 16, &pid, 4) == 0 && std::memcmp(v1 + 40, &pid, 4) == 0);
  EXPECT(std::memcmp(v1 + 20, "\0\0\0\0", 4) == 0 && std::memcmp(v1 + 24, v2 + 24, 16) == 0);
  EXPECT(std::memcmp(v1 + 44, read.level_zero, kLevelZeroHandleSize) == 0);

  uint8_t again[kSyclV2HandleSize];
  write_own_sycl_handle(read_sycl_handle(v1, sizeof v1), Layout::sycl_umf_level_zero_v2, again);
  EXPECT(std::memcmp(again + 48, v2 + 24, 8) == 0 && std::memcmp(again + 44, "\0\0\0\0", 4) == 0);
  EXPECT(std::memcmp(again + 56, read.level_zero, kLevelZeroHandleSize) == 0);

  for (const size_t size : {size_t{0}, size_t{107}, size_t{119}, size_t{121}}) {
    try {
      read_sycl_handle(v2, size);
      EXPECT(!"a handle of that size was read");
    } catch (const Failure& failure) {
      EXPECT(failure.reason == "invalid-vendor-handle");
    }
  }
  return 0;
}

int base_values() {
  constexpr size_t kCapacity = 4;
  SyclBaseValues values(kCapacity);
  std::set<uint64_t> seen;
  const DescriptorEntry file{DescriptorKind::memfd, 1, 2};
  const AllocationId id{7, 1};

  uint8_t one[kSyclV2HandleSize] = {1};
  uint8_t two[kSyclV2HandleSize] = {2};
  uint8_t interior[kSyclV2HandleSize] = {1};
  interior[32] = 64;  // the offset in the allocation
  uint8_t larger[kSyclV2HandleSize] = {1};
  larger[24] = 1;  // the base size
  const auto value = [&](const AllocationId& of, const DescriptorEntry& in, const uint8_t* handle) {
    return values.value(of, in, handle, kSyclV2HandleSize);
  };
  const uint64_t first = value(id, file, one);
  seen.insert(first);
  EXPECT(first != 0 && value(id, file, one) == first && value(id, file, interior) == first);
  // Another handle, file or allocation is something else.
  EXPECT(seen.insert(value(id, file, two)).second && seen.insert(value(id, file, larger)).second);
  EXPECT(value(id, file, one) == first);
  EXPECT(seen.insert(value(id, {DescriptorKind::memfd, 1, 3}, one)).second);
  EXPECT(seen.insert(value({7, 2}, file, one)).second);
  EXPECT(value(id, file, one) == first);
  // Nobody has said which allocation it is: never the same.
  for (int i = 0; i < 10; i++) EXPECT(seen.insert(value({}, file, one)).second);
  EXPECT(value(id, file, one) == first);
  // What was refused is never found again.
  values.forget(first);
  const uint64_t again = value(id, file, one);
  EXPECT(seen.insert(again).second && value(id, file, one) == again);
  // Forgotten after `capacity` others, and its value is not given to anyone again.
  for (uint64_t i = 0; i < kCapacity; i++) EXPECT(seen.insert(value({8, i}, file, one)).second);
  EXPECT(seen.insert(value(id, file, one)).second);
  return 0;
}

}  // namespace

int main() { return handles() != 0 ? 1 : base_values(); }
