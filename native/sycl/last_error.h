// How a C++ exception becomes a C result: nothing thrown leaves guarded(), and the thread's last error says what it
// was.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "usm_ipc_sycl.h"

namespace usm_ipc::sycl_library {

// What the runtime should have given and did not, without saying so.
struct NullResult {
  const char* what;
};
// A Level Zero function that was called past the runtime.
struct LevelZeroError {
  uint32_t result;
};
// The caller's mistake.
struct BadArgument {
  const char* what;
};

// Only inside a catch block: notes the exception that is being handled.
void note_exception(const char* call) noexcept;

template <class Result, class Body>
Result guarded(const char* call, Result failed, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    note_exception(call);
    return failed;
  }
}

template <class Body>
int guarded(const char* call, Body&& body) noexcept {
  return guarded(call, 1, [&] {
    body();
    return 0;
  });
}

template <class Type>
Type* required(Type* pointer, const char* what) {
  if (pointer == nullptr) throw BadArgument{what};
  return pointer;
}

}  // namespace usm_ipc::sycl_library
