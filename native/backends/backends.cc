#include "backend.h"
#include "backends/cuda.h"
#include "backends/host.h"
#include "backends/level_zero.h"
#include "backends/sycl.h"

namespace usm_ipc {

const std::vector<Backend*>& backends() {
  static const auto* const all = new std::vector<Backend*>{&host_backend(), &level_zero_backend(), &sycl_backend(),
                                                              &cuda_backend()};
  return *all;
}

}  // namespace usm_ipc
