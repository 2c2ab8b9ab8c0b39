#pragma once

#include "backend.h"

namespace usm_ipc {

// SYCL USM over Level Zero, through libusm_ipc_sycl.so (sycl_runtime.h).
Backend& sycl_backend();

}  // namespace usm_ipc
