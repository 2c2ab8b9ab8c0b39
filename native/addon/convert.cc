#include "addon/convert.h"

#include <cerrno>
#include <new>

namespace usm_ipc {
namespace {

const char* kind_name(FailureKind kind) {
  switch (kind) {
    case FailureKind::driver: return "driver";
    case FailureKind::descriptor: return "descriptor";
    case FailureKind::state: return "state";
    case FailureKind::argument: return "argument";
    case FailureKind::peer: return "peer";
  }
  return "driver";
}

Failure internal_failure(const std::string& message) {
  Failure failure(FailureKind::driver, "internal", message);
  failure.backend = "addon";
  failure.call = "internal";
  failure.result = "exception";
  return failure;
}

napi_value string_value(napi_env env, const std::string& text) noexcept {
  napi_value value = nullptr;
  napi_create_string_utf8(env, text.data(), text.size(), &value);
  return value;
}

}  // namespace

// Raw calls with no status looked at: in an environment that is being terminated they fail, and then nobody is left to
// see the error.
napi_value error_value(napi_env env, const Failure& failure) noexcept {
  napi_value error = nullptr;
  napi_create_error(env, nullptr, string_value(env, failure.what()), &error);
  const auto set = [&](const char* name, napi_value value) { napi_set_named_property(env, error, name, value); };
  set("kind", string_value(env, kind_name(failure.kind)));
  set("reason", string_value(env, failure.reason));
  set("backend", string_value(env, failure.backend));
  set("call", string_value(env, failure.call));
  set("result", string_value(env, failure.result));
  napi_value number = nullptr;
  napi_create_int64(env, failure.number, &number);
  set("number", number);
  return error;
}

Napi::Error to_js_error(Napi::Env env, const Failure& failure) { return {env, error_value(env, failure)}; }

void throw_current(napi_env env) noexcept {
  bool pending = false;
  napi_is_exception_pending(env, &pending);
  if (pending) return;
  try {
    try {
      throw;
    } catch (const Napi::Error& error) {
      napi_throw(env, error.Value());
    } catch (...) {
      napi_throw(env, error_value(env, current_failure()));
    }
  } catch (...) {
    napi_throw_error(env, nullptr, "the addon failed, and could not say why");
  }
}

Failure current_failure() {
  try {
    throw;
  } catch (const Failure& failure) {
    return failure;
  } catch (const std::bad_alloc&) {
    Failure failure(FailureKind::driver, "out-of-memory", "the addon ran out of memory");
    failure.backend = "addon";
    failure.call = "operator new";
    failure.result = "ENOMEM";
    failure.number = ENOMEM;
    return failure;
  } catch (const std::exception& exception) {
    return internal_failure(std::string("internal error in the addon: ") + exception.what());
  } catch (...) {
    return internal_failure("internal error in the addon");
  }
}

}  // namespace usm_ipc
