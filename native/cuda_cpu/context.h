// The contexts of the calling thread.
#pragma once

#include "cuda_cpu/driver.h"

namespace usm_ipc::cuda_cpu {

CUctx_st* current_context();
// Only where there is a current context.
int current_device();
// Of one that is not one of the devices' primary contexts, and there are no others: kInvalidContext.
Result check_context(Context context);

}  // namespace usm_ipc::cuda_cpu
