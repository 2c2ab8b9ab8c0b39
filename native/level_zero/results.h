// Level Zero's results by the names that its specification gives them.
#pragma once

#include <cstdint>

namespace usm_ipc {

// "ZE_RESULT_..."; for a number that the specification does not have, "ZE_RESULT_<unknown>".
const char* ze_result_name(uint32_t result);

}  // namespace usm_ipc
