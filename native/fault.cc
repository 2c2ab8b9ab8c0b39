#include "fault.h"

#ifdef USM_IPC_FAULTS

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <mutex>

#include "failure.h"

namespace usm_ipc {
namespace {

struct Fault {
  int countdown;
  bool kills;
};

struct Faults {
  std::mutex mutex;
  std::map<std::string, Fault> pending;
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
      "event.register", "event.finalizer",
      "view.buffer",
      "descriptor.duplicate", "descriptor.register", "descriptor.finalizer",
      "pidfd.open", "pidfd.identity", "pidfd.getfd",
      "channel.send", "channel.receive", "channel.duplicate", "channel.start", "channel.holder",
      "channel.peerpidfd",
      "channel.mode", "channel.place", "channel.probe", "channel.replace", "channel.replaced",
  };
  return *points;
}

void fault_point(const char* name) {
  require_known(name);
  Faults& all = faults();
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.pending.find(name);
  if (found == all.pending.end() || --found->second.countdown > 0) return;
  if (found->second.kills) ::kill(::getpid(), SIGKILL);
  all.pending.erase(found);
  Failure failure(FailureKind::driver, "injected", std::string("injected failure at ") + name);
  failure.backend = "fault";
  failure.call = name;
  failure.result = "injected";
  throw failure;
}

void set_fault(const char* name, int countdown, bool kills) {
  require_known(name);
  Faults& all = faults();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (countdown <= 0) {
    all.pending.erase(name);
  } else {
    all.pending[name] = {countdown, kills};
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
