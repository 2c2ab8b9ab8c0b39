// What a handle points at. An object starts with its kind, so that a handle of another kind, or none of ours, is
// refused rather than used.
#pragma once

#include "level_zero_cpu/entry.h"

namespace usm_ipc::ze {

// Numbers that no other library's objects start with.
enum class Kind : uint64_t {
  driver = 0x7573'6d2d'6970'6301,
  device,
  context,
  queue,
  list,
  fence,
  event_pool,
  event,
  physical_memory,
};

struct DriverHandle {
  Kind kind = Kind::driver;
};

struct ContextHandle {
  Kind kind = Kind::context;
};

inline void check_kind(const void* handle, Kind kind) {
  require(handle != nullptr, kInvalidNullHandle);
  require(reinterpret_cast<uintptr_t>(handle) % alignof(Kind) == 0, kInvalidArgument);
  require(*static_cast<const Kind*>(handle) == kind, kInvalidArgument);
}

inline DriverHandle& object(Driver handle) { return check_kind(handle, Kind::driver), *handle; }
inline ContextHandle& object(Context handle) { return check_kind(handle, Kind::context), *handle; }

// The spec's way of giving a list: with `count` 0 it says how many there are, otherwise it fills what fits.
template <typename T, typename Fill>
void enumerate(uint32_t available, uint32_t* count, T* out, Fill&& fill) {
  required(count);
  if (*count == 0 || *count > available) *count = available;
  if (out == nullptr) return;
  for (uint32_t i = 0; i < *count; i++) fill(i, out[i]);
}

}  // namespace usm_ipc::ze
