// Arguments that several methods have.
#pragma once

#include "addon/call.h"
#include "backend.h"

namespace usm_ipc {

inline Backend& backend_argument(const Call& call, size_t index) {
  const auto& all = backends();
  return *all[call.integer(index, "backend", static_cast<uint32_t>(all.size() - 1))];
}

}  // namespace usm_ipc
