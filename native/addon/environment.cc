#include "addon/environment.h"

#include "failure.h"

namespace usm_ipc {
namespace {

// Environment ids stay below 2^53 and a pointer has 64 bits, so the id itself travels in the pointer: nothing to free,
// and nothing that dangles when a runtime runs its finalizers after the clean-up hooks.
static_assert(sizeof(void*) >= sizeof(EnvironmentId));

void* to_pointer(EnvironmentId id) { return reinterpret_cast<void*>(id); }
EnvironmentId to_id(void* pointer) { return reinterpret_cast<EnvironmentId>(pointer); }

void end_environment(void* data) { Registry::instance().end_environment(to_id(data)); }

}  // namespace

EnvironmentId begin_environment(Napi::Env env) {
  Registry& registry = Registry::instance();
  const EnvironmentId id = registry.begin_environment();
  if (napi_set_instance_data(env, to_pointer(id), nullptr, nullptr) != napi_ok ||
      napi_add_env_cleanup_hook(env, end_environment, to_pointer(id)) != napi_ok) {
    registry.end_environment(id);
    throw Failure(FailureKind::state, "environment-ending", "the addon cannot be loaded into an ending environment");
  }
  return id;
}

EnvironmentId environment_of(napi_env env) {
  void* data = nullptr;
  if (napi_get_instance_data(env, &data) != napi_ok || data == nullptr) {
    throw Failure(FailureKind::state, "environment-ending", "the environment has no addon data (any more)");
  }
  return to_id(data);
}

}  // namespace usm_ipc
