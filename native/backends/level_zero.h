#pragma once

#include "backend.h"

namespace usm_ipc {

// Plain Level Zero, through whatever loader this process has (runtime_choice.h).
Backend& level_zero_backend();

}  // namespace usm_ipc
