#include "fault.h"

#ifdef USM_IPC_FAULTS

#include <algorithm>
#include <map>
#include <mutex>

#include "failure.h"

namespace usm_ipc {
namespace {

struct Faults {
  std::mutex mutex;
  std::map<std::string, int> countdowns;
  std::map<std::string, unsigned> calls;
};

Faults& faults() {
  static Faults* const instance = new Faults;  // never destroyed: finalizers may pass a point at exit
  return *instance;
}

void require_known(const std::string& name) {
  const auto& known = fault_points();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw Failure(FailureKind::argument, "unknown-fault-point", "there is no fault point " + name);
  }
}

}  // namespace

const std::vector<std::string>& fault_points() {
  static const auto* const points = new std::vector<std::string>{
      "allocate.memfd", "allocate.resize", "allocate.map", "allocate.seal", "allocate.register", "allocate.finalizer",
      "get.export",
      "open.stat", "open.seals", "open.map", "open.extent", "open.register", "open.finalizer",
      "claim.register", "claim.finalizer",
      "view.buffer",
      "descriptor.duplicate", "descriptor.register", "descriptor.finalizer",
      "pidfd.open", "pidfd.identity", "pidfd.getfd",
      "channel.send", "channel.receive", "channel.duplicate", "channel.start", "channel.holder",
  };
  return *points;
}

void fault_point(const char* name) {
  require_known(name);
  Faults& all = faults();
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.countdowns.find(name);
  if (found == all.countdowns.end() || --found->second > 0) return;
  all.countdowns.erase(found);
  Failure failure(FailureKind::driver, "injected", std::string("injected failure at ") + name);
  failure.backend = "fault";
  failure.call = name;
  failure.result = "injected";
  throw failure;
}

void set_fault(const char* name, int countdown) {
  require_known(name);
  Faults& all = faults();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (countdown <= 0) {
    all.countdowns.erase(name);
  } else {
    all.countdowns[name] = countdown;
  }
}

void count_call(const char* name) noexcept {
  Faults& all = faults();
  std::lock_guard<std::mutex> lock(all.mutex);
  ++all.calls[name];
}

std::map<std::string, unsigned> call_counts() {
  Faults& all = faults();
  std::lock_guard<std::mutex> lock(all.mutex);
  return all.calls;
}

}  // namespace usm_ipc

#endif
