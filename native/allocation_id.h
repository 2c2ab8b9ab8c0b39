#pragma once

#include <cstdint>

namespace usm_ipc {

// Random part and counter: the envelope's allocation id. Zero: none, so never found by a look-up (openVendor).
struct AllocationId {
  uint64_t random = 0;
  uint64_t counter = 0;
  bool operator==(const AllocationId& o) const { return random == o.random && counter == o.counter; }
};

}  // namespace usm_ipc
