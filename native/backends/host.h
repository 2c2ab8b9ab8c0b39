#pragma once

#include "backend.h"

namespace usm_ipc {

Backend& host_backend();

}  // namespace usm_ipc
