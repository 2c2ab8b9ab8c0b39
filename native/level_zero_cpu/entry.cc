#include "level_zero_cpu/entry.h"

#include <cstdio>

#include "level_zero/results.h"

namespace usm_ipc::ze {
namespace {

std::atomic<bool> lost{false};
std::atomic<uint64_t> device_calls{0};

}  // namespace

EntryPoint::EntryPoint(const char* name, Reach reach)
    : name_(name), reach_(reach), traced_(config().tracing != Tracing::off) {
  const Config& settings = config();
  for (const Fault& fault : settings.faults) {
    if (fault.function == name) faults_.push_back(fault);
  }
  if (settings.loss.function == name) loss_ = settings.loss.call;
  watched_ = !faults_.empty() || settings.loss.call != 0;
}

Result EntryPoint::count() {
  const uint64_t call = ++calls_;
  for (const Fault& fault : faults_) {
    if (fault.call == 0 || fault.call == call) return fault.result;
  }
  const Loss& loss = config().loss;
  if (loss_ != 0 && call >= loss_) lost = true;
  if (reach_ != Reach::device) return kSuccess;
  if (loss.call != 0 && loss.function.empty() && ++device_calls >= loss.call) lost = true;
  return lost ? kDeviceLost : kSuccess;
}

void EntryPoint::trace(Result result) const {
  const bool failed = result != kSuccess && result != kNotReady;
  if (!failed && config().tracing != Tracing::calls) return;
  std::fprintf(stderr, "usm-ipc software driver: %s: %s (0x%x)\n", name_, ze_result_name(result), result);
}

}  // namespace usm_ipc::ze
