#include "cuda_cpu/driver.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "cuda_cpu/entry.h"

namespace usm_ipc::cuda_cpu {
namespace {

thread_local std::vector<CUctx_st*> contexts;

}  // namespace

Driver& Driver::instance() {
  static Driver* const driver = new Driver;  // never destroyed: threads may outlive static destruction
  return *driver;
}

Range* Driver::range_at(DevicePtr pointer, DevicePtr* base) {
  auto after = ranges.upper_bound(pointer);
  if (after == ranges.begin()) return nullptr;
  const auto found = std::prev(after);
  if (pointer - found->first >= found->second.nbytes) return nullptr;
  if (base != nullptr) *base = found->first;
  return &found->second;
}

bool Driver::take(int device, uint64_t nbytes) {
  PhysicalDevice& on = devices[device];
  if (nbytes > on.memory - on.used) return false;
  on.used += nbytes;
  return true;
}

void Driver::give(int device, uint64_t nbytes) { devices[device].used -= nbytes; }

CUctx_st* current_context() { return contexts.empty() ? nullptr : contexts.back(); }
int current_device() { return current_context()->device; }
void push_context(CUctx_st* context) { contexts.push_back(context); }

CUctx_st* pop_context() {
  if (contexts.empty()) return nullptr;
  CUctx_st* const context = contexts.back();
  contexts.pop_back();
  return context;
}

// "cuMemMap:2,cuMemCreate:1:2": the second call of the one gives 999, the first of the other 2.
void set_failures(Driver& driver, const std::string& text) {
  driver.failures.clear();
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    std::istringstream fields(part);
    std::string function, count, result;
    std::getline(fields, function, ':');
    std::getline(fields, count, ':');
    std::getline(fields, result, ':');
    driver.failures[function] = std::atoi(count.c_str());
    driver.failure_results[function] = result.empty() ? kUnknown : static_cast<Result>(std::atoi(result.c_str()));
  }
}

Result enter(const char* function) {
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  if (!driver.initialized || driver.process != ::getpid()) return kNotInitialized;
  ++driver.calls[function];
  const auto failure = driver.failures.find(function);
  if (failure == driver.failures.end() || --failure->second > 0) return kSuccess;
  driver.failures.erase(failure);
  return driver.failure_results[function];
}

Result enter_in_context(const char* function) {
  const Result result = enter(function);
  if (result != kSuccess) return result;
  const CUctx_st* const context = current_context();
  if (context == nullptr) return kInvalidContext;
  return context->alive ? kSuccess : kContextIsDestroyed;
}

int device_of_number(int number) {
  const std::vector<PhysicalDevice>& devices = Driver::instance().devices;
  for (size_t i = 0; i < devices.size(); i++) {
    if (devices[i].number == number) return static_cast<int>(i);
  }
  return -1;
}

// What the device's context had: its memory, but neither handles nor reservations, which are the process's.
void free_everything(int device) {
  Driver& driver = Driver::instance();
  for (auto at = driver.ranges.begin(); at != driver.ranges.end();) {
    Range& range = at->second;
    if (range.device != device || range.origin == Origin::vmm || range.origin == Origin::pinned) {
      ++at;
      continue;
    }
    at = driver.ranges.erase(at);
  }
  driver.devices[device].used = 0;
  for (const auto& [handle, physical] : driver.physical) {
    if (physical.prop.location.id == device) driver.devices[device].used += physical.nbytes;
  }
}

}  // namespace usm_ipc::cuda_cpu

using namespace usm_ipc::cuda_cpu;

extern "C" __attribute__((visibility("default"))) int usm_ipc_software_cuda() { return 1; }

extern "C" __attribute__((visibility("default"))) void usm_ipc_cuda_sw_fail(const char* text) {
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  set_failures(driver, text);
}

// How often a function was called.
extern "C" __attribute__((visibility("default"))) unsigned long long usm_ipc_cuda_sw_calls(const char* function) {
  Driver& driver = Driver::instance();
  Lock lock(driver.mutex);
  return driver.calls[function];
}
