// Level Zero's 64-byte memory handle, in the two forms that Intel's driver gives it (docs/wire-format.md), and how a copy
// of one is made fit for our own driver: with our descriptor and our pid in it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace usm_ipc {

constexpr size_t kLevelZeroHandleSize = 64;

enum class LevelZeroForm : uint8_t { classic, opaque };

// The form of a handle that our own driver has just made for device memory: there the classic form has a zero where the
// opaque one has our pid.
LevelZeroForm form_of_own_handle(const uint8_t* handle);

int level_zero_fd(const uint8_t* handle);
uint64_t level_zero_pool_offset(const uint8_t* handle);

// Throws Failure{descriptor, "wrong-handle-form"} where the handle has another form than our driver reads, and
// Failure{argument, "invalid-vendor-handle"} for what no driver makes. Then
// writes `fd` and, in the opaque form, our own pid; where there is a mirror of the number, one that differs: to the newest
// drivers that means "import this number as it is".
void patch_level_zero_handle(uint8_t* handle, LevelZeroForm form, int fd);

}  // namespace usm_ipc
