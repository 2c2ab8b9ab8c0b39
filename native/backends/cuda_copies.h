// Copies of CUDA memory. All of them return when the bytes are there, for other processes too.
#pragma once

#include "backend.h"

namespace usm_ipc {

void cuda_write(const Memory& to, uint64_t offset, const void* from, uint64_t nbytes);
void cuda_read(const Memory& from, uint64_t offset, void* to, uint64_t nbytes);
void cuda_copy(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset, uint64_t nbytes);
void cuda_fill(const Memory& to, uint64_t offset, uint64_t nbytes, uint8_t value);

}  // namespace usm_ipc
