// Arguments that several methods have.
#pragma once

#include "addon/call.h"
#include "allocation_id.h"
#include "backend.h"
#include "little_endian.h"

namespace usm_ipc {

inline Backend& backend_argument(const Call& call, size_t index) {
  const auto& all = backends();
  return *all[call.integer(index, "backend", static_cast<uint32_t>(all.size() - 1))];
}

// The 16 bytes of an id in core memory.
inline AllocationId allocation_id(const Span& core, uint64_t at) {
  const uint8_t* const bytes = core.part(at, 16, "the allocation id");
  return {load_little_endian<uint64_t>(bytes), load_little_endian<uint64_t>(bytes + 8)};
}

}  // namespace usm_ipc
