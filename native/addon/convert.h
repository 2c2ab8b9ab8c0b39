// Native failures as JavaScript errors. host/errors.ts gives them a class and a code.
#pragma once

#include <napi.h>

#include "failure.h"

namespace usm_ipc {

// The same without node-addon-api, which ends the process where an environment is being terminated. Null there.
napi_value error_value(napi_env env, const Failure& failure) noexcept;

// An Error with kind, reason, backend, call, result and number. Needs a handle scope and no pending exception.
Napi::Error to_js_error(Napi::Env env, const Failure& failure);

// What is being handled, as a Failure: a Failure as it is, std::bad_alloc as driver/"out-of-memory", any other
// exception as driver/"internal". Only inside a catch block. A Napi::Error must be caught before it.
Failure current_failure();

// Throws what is being handled in JavaScript, unless an exception is pending there. Only inside a catch block.
void throw_current(napi_env env) noexcept;

// Runs `body`, which may throw any C++ exception, where only Napi::Error may escape (a node-addon-api callback).
template <typename Body>
auto guarded(Napi::Env env, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Napi::Error&) {
    throw;
  } catch (...) {
    throw to_js_error(env, current_failure());
  }
}

}  // namespace usm_ipc
