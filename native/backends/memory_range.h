#pragma once

#include <cstdint>
#include <string>

#include "backend.h"
#include "failure.h"

namespace usm_ipc {

// The address `offset` bytes into the memory, of which `nbytes` are inside it.
inline uint8_t* range_of_memory(const Memory& memory, uint64_t offset, uint64_t nbytes) {
  if (offset > memory.nbytes || nbytes > memory.nbytes - offset) {
    throw Failure(FailureKind::argument, "out-of-bounds",
                  std::to_string(nbytes) + " bytes at offset " + std::to_string(offset) + " are not inside memory of " +
                      std::to_string(memory.nbytes) + " bytes");
  }
  return static_cast<uint8_t*>(memory.base) + offset;
}

}  // namespace usm_ipc
