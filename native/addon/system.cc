// What this build, this machine and this process are.
#include <cstring>

#include "addon/arguments.h"
#include "addon/methods.h"
#include "fault.h"
#include "process_identity.h"

namespace usm_ipc {
namespace {

Napi::Uint8Array bytes_of(Napi::Env env, const uint8_t* from, size_t size) {
  Napi::Uint8Array bytes = Napi::Uint8Array::New(env, size);
  std::memcpy(bytes.Data(), from, size);
  return bytes;
}

napi_value list_backends(Call& call) {
  const Napi::Env env(call.env());
  Napi::Array result = Napi::Array::New(env);
  for (Backend* backend : backends()) result.Set(result.Length(), Napi::String::New(env, backend->name()));
  return result;
}

// Loads the backend's driver to find out.
napi_value unavailable(Call& call) {
  const Unavailable why = backend_argument(call, 0).unavailable();
  Napi::Object result = Napi::Object::New(call.env());
  result.Set("reason", why.reason);
  result.Set("call", why.call);
  result.Set("result", why.result);
  result.Set("number", static_cast<double>(why.number));
  return result;
}

napi_value devices(Call& call) {
  const Napi::Env env(call.env());
  Napi::Array result = Napi::Array::New(env);
  for (const DeviceInfo& device : backend_argument(call, 0).devices()) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("name", device.name);
    entry.Set("type", device.type);
    entry.Set("uuid", bytes_of(env, device.uuid, sizeof device.uuid));
    entry.Set("memory", static_cast<double>(device.memory));
    entry.Set("software", device.software);
    result.Set(result.Length(), entry);
  }
  return result;
}

napi_value identity(Call& call) {
  const ProcessIdentity identity = process_identity();
  const Napi::Env env(call.env());
  Napi::Object result = Napi::Object::New(env);
  result.Set("pid", identity.pid);
  result.Set("startTime", Napi::BigInt::New(env, identity.start_time));
  result.Set("pidNamespace", Napi::BigInt::New(env, identity.pid_namespace));
  result.Set("bootId", bytes_of(env, identity.boot_id.data(), identity.boot_id.size()));
  return result;
}

#ifdef USM_IPC_FAULTS
napi_value set_fault_method(Call& call) {
  const std::string name = Napi::Value(call.env(), call.value(0)).ToString();
  const bool kills = Napi::Value(call.env(), call.value(2)).ToBoolean();
  set_fault(name.c_str(), static_cast<int>(call.integer(1, "countdown", INT32_MAX)), kills);
  return nullptr;
}

napi_value list_fault_points(Call& call) {
  Napi::Array result = Napi::Array::New(call.env());
  for (const std::string& name : fault_points()) result.Set(result.Length(), name);
  return result;
}

napi_value list_call_counts(Call& call) {
  Napi::Object result = Napi::Object::New(call.env());
  for (const auto& [name, count] : call_counts()) result.Set(name, count);
  return result;
}
#endif

}  // namespace

void add_system(Methods& methods) {
  methods.push_back(method<list_backends>("backends"));
  methods.push_back(method<unavailable>("unavailable"));
  methods.push_back(method<devices>("devices"));
  methods.push_back(method<identity>("processIdentity"));
#ifdef USM_IPC_FAULTS
  methods.push_back(method<set_fault_method>("setFault"));
  methods.push_back(method<list_fault_points>("faultPoints"));
  methods.push_back(method<list_call_counts>("callCounts"));
#endif
}

}  // namespace usm_ipc
