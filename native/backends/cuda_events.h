#pragma once

#include "backend.h"

namespace usm_ipc {

// Interprocess events.
Events& cuda_events();

}  // namespace usm_ipc
