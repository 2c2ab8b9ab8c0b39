#pragma once

#include "backend.h"

namespace usm_ipc {

// CUDA by its driver API, which is loaded when it is first asked for.
Backend& cuda_backend();

}  // namespace usm_ipc
