// Claims as JavaScript holds them: a number, and an object whose native finalizer is the net under a forgotten end().
#pragma once

#include "addon/call.h"

namespace usm_ipc {

// The claim that a call has just taken, for JavaScript. When the holder cannot be made to hold it, it is ended, once.
napi_value deliver(Call& call, ClaimId claim, size_t holder_index, const char* fault);

// The claim in an argument, on memory rather than on a descriptor.
ClaimInfo memory_claim(const Call& call, size_t index, const char* what);

// Memory that another process may have shared read-only with this one; its exporter may still write.
inline bool is_read_only_import(const ClaimInfo& claim) {
  return claim.path != OpenPath::none && claim.memory->read_only;
}

}  // namespace usm_ipc
