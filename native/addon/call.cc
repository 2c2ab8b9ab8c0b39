#include "addon/call.h"

#include <string>

#include "addon/environment.h"

namespace usm_ipc {
namespace {

constexpr double kLargest = 9007199254740991.0;  // 2^53 - 1

[[noreturn]] void refuse(const char* what, const std::string& rule) {
  throw Failure(FailureKind::argument, "invalid-argument", std::string(what) + " must be " + rule);
}

double number_or_nan(napi_env env, napi_value value) {
  double number;
  return napi_get_value_double(env, value, &number) == napi_ok ? number : __builtin_nan("");
}

}  // namespace

uint8_t* Span::part(uint64_t at, uint64_t nbytes, const char* what) const {
  if (data == nullptr || at > size || nbytes > size - at) {
    throw Failure(FailureKind::argument, "out-of-bounds",
                  std::string(what) + ": " + std::to_string(nbytes) + " bytes at " + std::to_string(at) +
                      " are not inside the " + std::to_string(size) +
                      " bytes given; a view on a wasm memory is empty once that has grown");
  }
  return data + at;
}

Call::Call(napi_env env, napi_callback_info info) : env_(env) {
  size_t count = kMaxArguments;
  check(napi_get_cb_info(env, info, &count, arguments_, &self_, &data_), "napi_get_cb_info");
}

EnvironmentId Call::environment() const { return environment_of(env_); }

uint64_t Call::integer(size_t index, const char* what) const {
  const double number = number_or_nan(env_, arguments_[index]);
  if (!(number >= 0 && number <= kLargest)) refuse(what, "an integer from 0 to 2^53 - 1");
  const auto integer = static_cast<uint64_t>(number);
  if (static_cast<double>(integer) != number) refuse(what, "an integer from 0 to 2^53 - 1");
  return integer;
}

uint32_t Call::integer(size_t index, const char* what, uint32_t max) const {
  const uint64_t wide = integer(index, what);
  if (wide > max) refuse(what, "at most " + std::to_string(max));
  return static_cast<uint32_t>(wide);
}

bool Call::negative(size_t index) const { return number_or_nan(env_, arguments_[index]) < 0; }

bool Call::boolean(size_t index, const char* what) const {
  bool value;
  if (napi_get_value_bool(env_, arguments_[index], &value) != napi_ok) refuse(what, "a boolean");
  return value;
}

uint64_t Call::bigint(size_t index, const char* what) const {
  uint64_t value;
  bool lossless = false;
  const bool read = napi_get_value_bigint_uint64(env_, arguments_[index], &value, &lossless) == napi_ok;
  if (!read || !lossless) refuse(what, "a bigint from 0 to 2^64 - 1");
  return value;
}

Span Call::bytes(size_t index, const char* what) const {
  napi_typedarray_type type;
  size_t length;
  void* data;
  // The ArrayBuffer is not asked for: over shared memory there is none, and runtimes refuse.
  if (napi_get_typedarray_info(env_, arguments_[index], &type, &length, &data, nullptr, nullptr) != napi_ok ||
      type != napi_uint8_array) {
    refuse(what, "a Uint8Array");
  }
  return {static_cast<uint8_t*>(data), data == nullptr ? 0 : length};
}

void Call::check(napi_status status, const char* call) const {
  if (status == napi_ok) return;
  Failure failure(status == napi_object_expected ? FailureKind::argument : FailureKind::driver, "node-api-failed",
                  std::string(call) + " failed with status " + std::to_string(status));
  failure.backend = "addon";
  failure.call = call;
  failure.result = "napi_status";
  failure.number = status;
  throw failure;
}

napi_value Call::number(uint64_t value) const {
  napi_value result;
  check(napi_create_int64(env_, static_cast<int64_t>(value), &result), "napi_create_int64");
  return result;
}

napi_value Call::boolean(bool value) const {
  napi_value result;
  check(napi_get_boolean(env_, value, &result), "napi_get_boolean");
  return result;
}

}  // namespace usm_ipc
