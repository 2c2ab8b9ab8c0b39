// Which devices there are, and in which order.
#pragma once

#include <vector>

#include "cuda/abi.h"

namespace usm_ipc::cuda_cpu {

// The same on this machine until it is started anew, as a GPU's is for ever.
cu::Uuid uuid_of(int number);
// The numbers of those that the process sees.
std::vector<int> visible_devices(int count);

}  // namespace usm_ipc::cuda_cpu
