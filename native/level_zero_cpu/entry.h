// What every entry point does first and last: it counts, traces and fails as the environment asks, and no exception
// leaves it.
#pragma once

#include <atomic>
#include <new>
#include <type_traits>

#include "level_zero_cpu/config.h"

namespace usm_ipc::ze {

#define USM_IPC_ZE_API extern "C" __attribute__((visibility("default")))

// Thrown inside an entry point, which then gives the result.
struct Refusal {
  Result result;
};

inline void require(bool holds, Result otherwise) {
  if (!holds) throw Refusal{otherwise};
}

template <typename T>
T& required(T* pointer) {
  require(pointer != nullptr, kInvalidNullPointer);
  return *pointer;
}

// What a lost device makes of a call: nothing (it does not reach the device), its failure, or nothing because it only
// gives back: otherwise nobody could clean up after the loss.
enum class Reach { host, device, release };

class EntryPoint {
 public:
  EntryPoint(const char* name, Reach reach);
  // Not kSuccess: the call gives that, and does nothing.
  Result enter() { return watched_ ? count() : kSuccess; }
  Result leave(Result result) {
    if (traced_) trace(result);
    return result;
  }

 private:
  Result count();
  void trace(Result result) const;

  const char* const name_;
  const Reach reach_;
  bool watched_ = false;
  const bool traced_;
  std::vector<Fault> faults_;
  uint64_t loss_ = 0;
  std::atomic<uint64_t> calls_{0};
};

template <typename Body>
Result entry(const char* name, Reach reach, Body&& body) noexcept {
  try {
    // One for each entry point: each Body is its own type.
    static EntryPoint* const point = new EntryPoint(name, reach);
    if (const Result injected = point->enter(); injected != kSuccess) return point->leave(injected);
    try {
      if constexpr (std::is_void_v<decltype(body())>) {
        body();
        return point->leave(kSuccess);
      } else {
        return point->leave(body());
      }
    } catch (const Refusal& refusal) {
      return point->leave(refusal.result);
    }
  } catch (const std::bad_alloc&) {
    return kOutOfHostMemory;
  } catch (...) {
    return kUnknown;
  }
}

}  // namespace usm_ipc::ze
