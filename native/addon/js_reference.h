// Node-API without node-addon-api: references with one owner, and statuses as failures.
#pragma once

#include <node_api.h>

#include <string>
#include <utility>

#include "failure.h"

namespace usm_ipc {

// Throws Failure{driver, "node-api-failed"} unless `status` is ok.
inline void require_ok(napi_status status, const char* call) {
  if (status == napi_ok) return;
  Failure failure(FailureKind::driver, "node-api-failed",
                  std::string(call) + " failed with status " + std::to_string(status));
  failure.backend = "addon";
  failure.call = call;
  failure.result = "napi_status";
  failure.number = status;
  throw failure;
}

// On the environment's thread only.
class JsReference {
 public:
  JsReference() = default;
  JsReference(napi_env env, napi_value value) : env_(env) {
    require_ok(napi_create_reference(env, value, 1, &reference_), "napi_create_reference");
  }
  JsReference(napi_env env, napi_ref reference) : env_(env), reference_(reference) {}
  JsReference(JsReference&& other) noexcept : env_(other.env_), reference_(std::exchange(other.reference_, nullptr)) {}
  JsReference& operator=(JsReference&& other) noexcept {
    if (this != &other) {
      reset();
      env_ = other.env_;
      reference_ = std::exchange(other.reference_, nullptr);
    }
    return *this;
  }
  ~JsReference() { reset(); }

  napi_value value() const {
    napi_value value = nullptr;
    require_ok(napi_get_reference_value(env_, reference_, &value), "napi_get_reference_value");
    return value;
  }
  void ref() { napi_reference_ref(env_, reference_, nullptr); }
  void unref() { napi_reference_unref(env_, reference_, nullptr); }
  void reset() {
    if (reference_ != nullptr) napi_delete_reference(env_, std::exchange(reference_, nullptr));
  }

 private:
  napi_env env_ = nullptr;
  napi_ref reference_ = nullptr;
};

// Closes the handle scope again.
class HandleScope {
 public:
  explicit HandleScope(napi_env env) : env_(env) {
    require_ok(napi_open_handle_scope(env, &scope_), "napi_open_handle_scope");
  }
  ~HandleScope() { napi_close_handle_scope(env_, scope_); }
  HandleScope(const HandleScope&) = delete;
  HandleScope& operator=(const HandleScope&) = delete;

 private:
  napi_env env_;
  napi_handle_scope scope_ = nullptr;
};

}  // namespace usm_ipc
