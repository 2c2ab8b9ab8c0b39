// What every function of the driver begins with.
#pragma once

#include <string>

#include "cuda/functions.h"

// Exported under the name that the declaration has; a wrong signature does not compile.
#define CUDA_CALL(name, ...)                                                  \
  extern "C" __attribute__((visibility("default"))) usm_ipc::cu::functions::name name; \
  extern "C" ::usm_ipc::cu::Result name(__VA_ARGS__)

namespace usm_ipc::cuda_cpu {

using namespace cu;  // the driver's own types: this library implements them

// Whether the call may go on: the driver is initialized in this very process, and nobody asked for this call to fail.
Result enter(const char* function);
// And there is a current context that has not been destroyed.
Result enter_in_context(const char* function);

void set_failures(const std::string& text);

#define ENTER(function)                                                        \
  if (const Result result_ = enter(#function); result_ != kSuccess) return result_
#define ENTER_IN_CONTEXT(function)                                             \
  if (const Result result_ = enter_in_context(#function); result_ != kSuccess) return result_

}  // namespace usm_ipc::cuda_cpu
