// Copies and fills. They are done when the call returns; each device takes one at a time. For all of them Memory.token
// says where `base` lies in the file that `identity` names: two mappings of one file overlap there, not by address.
#pragma once

#include <cstdint>

#include "backend.h"

namespace usm_ipc {

void level_zero_write(const Memory& to, uint64_t offset, const void* from, uint64_t nbytes);
void level_zero_read(const Memory& from, uint64_t offset, void* to, uint64_t nbytes);
// As memmove(): the ranges may overlap.
void level_zero_copy(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset, uint64_t nbytes);
void level_zero_fill(const Memory& to, uint64_t offset, uint64_t nbytes, uint8_t value);

}  // namespace usm_ipc
