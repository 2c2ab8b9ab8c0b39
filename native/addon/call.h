// One call from JavaScript: its arguments, checked as they are read. Plain Node-API, because open and end are measured
// in nanoseconds.
#pragma once

#include <node_api.h>

#include <cstddef>
#include <cstdint>

#include "addon/convert.h"
#include "registry.h"

namespace usm_ipc {

// Bytes of a Uint8Array, good until JavaScript runs again. Null and 0 where a wasm memory has grown under the view.
struct Span {
  uint8_t* data;
  size_t size;

  // The part at `at`, or an argument failure.
  uint8_t* part(uint64_t at, uint64_t nbytes, const char* what) const;
};

class Call {
 public:
  static constexpr size_t kMaxArguments = 11;

  Call(napi_env env, napi_callback_info info);

  napi_env env() const { return env_; }
  EnvironmentId environment() const;
  napi_value self() const { return self_; }
  void* data() const { return data_; }  // the property descriptor's

  napi_value value(size_t index) const { return arguments_[index]; }
  uint64_t integer(size_t index, const char* what) const;  // 0 to 2^53 - 1
  uint32_t integer(size_t index, const char* what, uint32_t max) const;
  bool negative(size_t index) const;
  bool boolean(size_t index, const char* what) const;
  uint64_t bigint(size_t index, const char* what) const;  // u64
  Span bytes(size_t index, const char* what) const;

  // Throws unless `status` is ok. A JavaScript exception that is pending then stays the one that is seen.
  void check(napi_status status, const char* call) const;
  napi_value number(uint64_t value) const;  // below 2^53
  napi_value boolean(bool value) const;

 private:
  napi_env env_;
  napi_value arguments_[kMaxArguments];
  napi_value self_;
  void* data_;
};

// What Node-API calls: no C++ exception may leave it.
template <napi_value (*function)(Call&)>
napi_value entry(napi_env env, napi_callback_info info) noexcept {
  try {
    Call call(env, info);
    return function(call);
  } catch (...) {
    throw_current(env);
    return nullptr;
  }
}

// A method of the addon object, or of a class.
template <napi_value (*function)(Call&)>
napi_property_descriptor method(const char* name, void* data = nullptr) {
  return {name, nullptr, entry<function>, nullptr, nullptr, nullptr, napi_default_jsproperty, data};
}

}  // namespace usm_ipc
