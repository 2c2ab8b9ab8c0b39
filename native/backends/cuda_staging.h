// Copies between pageable host memory and a device through pinned buffers: threads fill (or empty) two buffers each,
// one while the device copies the other.
#pragma once

#include <cstdint>

#include "backends/cuda_devices.h"

namespace usm_ipc {

// Return when the bytes are there; false, and nothing done, where there is no pinned memory to be had.
bool staged_write(CudaDevice& device, cu::DevicePtr to, const void* from, uint64_t nbytes);
bool staged_read(CudaDevice& device, void* to, cu::DevicePtr from, uint64_t nbytes);

}  // namespace usm_ipc
