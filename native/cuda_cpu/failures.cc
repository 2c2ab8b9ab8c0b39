// What tests ask of the driver: that it says what it is, that a call fails, how often one was made.
#include <unistd.h>

#include <cstdlib>
#include <list>
#include <map>
#include <sstream>

#include "cuda_cpu/driver.h"
#include "cuda_cpu/entry.h"

namespace usm_ipc::cuda_cpu {
namespace {

struct Failure {
  std::string function;
  long left;  // calls until it fails
  Result result;
};

struct Calls {
  std::list<Failure> failures;
  std::map<std::string, uint64_t> made;
};

Calls& calls() {
  static Calls* const instance = new Calls;  // as the driver
  return *instance;
}

}  // namespace

// "cuMemMap:2,cuMemCreate:1:2": the second call of the one gives 999, the first of the other 2.
void set_failures(const std::string& text) {
  calls().failures.clear();
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    std::istringstream fields(part);
    std::string function, call, result;
    std::getline(fields, function, ':');
    std::getline(fields, call, ':');
    std::getline(fields, result, ':');
    const Result wanted = result.empty() ? kUnknown : static_cast<Result>(std::atol(result.c_str()));
    calls().failures.push_back({function, std::atol(call.c_str()), wanted});
  }
}

Result enter(const char* function) {
  Driver& driver = Driver::instance();
  // Before the lock: a thread that the parent had and the child has not may hold it.
  if (driver.process != ::getpid()) return kNotInitialized;
  Lock lock(driver.mutex);
  ++calls().made[function];
  Result result = kSuccess;
  for (auto at = calls().failures.begin(); at != calls().failures.end();) {
    if (at->function != function || --at->left > 0) {
      ++at;
      continue;
    }
    result = at->result;
    at = calls().failures.erase(at);
  }
  return result;
}

}  // namespace usm_ipc::cuda_cpu

using namespace usm_ipc::cuda_cpu;

extern "C" __attribute__((visibility("default"))) int usm_ipc_software_cuda() { return 1; }

extern "C" __attribute__((visibility("default"))) void usm_ipc_cuda_sw_fail(const char* text) {
  Lock lock(Driver::instance().mutex);
  set_failures(text);
}

extern "C" __attribute__((visibility("default"))) unsigned long long usm_ipc_cuda_sw_calls(const char* function) {
  Lock lock(Driver::instance().mutex);
  return calls().made[function];
}
