#include <napi.h>

#include "addon/channel.h"
#include "addon/convert.h"
#include "addon/environment.h"
#include "addon/methods.h"

#if defined(__SANITIZE_ADDRESS__)
#define USM_IPC_IS_SANITIZED true
#else
#define USM_IPC_IS_SANITIZED false
#endif
#ifdef USM_IPC_FAULTS
#define USM_IPC_HAS_FAULTS true
#else
#define USM_IPC_HAS_FAULTS false
#endif

namespace usm_ipc {
namespace {

Napi::Object build(Napi::Env env) {
  Napi::Object build = Napi::Object::New(env);
  build.Set("version", USM_IPC_VERSION);
  build.Set("faults", USM_IPC_HAS_FAULTS);
  build.Set("sanitized", USM_IPC_IS_SANITIZED);
  return build;
}

}  // namespace

Napi::Object init(Napi::Env env, Napi::Object exports) {
  return guarded(env, [&] {
    const EnvironmentId id = begin_environment(env);
    Methods methods;
    add_system(methods);
    add_claims(methods);
    add_memory(methods);
    add_bytes(methods);
    add_descriptors(methods);
    add_events(methods);
    add_torch(methods);
    add_probe(methods);
    if (napi_define_properties(env, exports, methods.size(), methods.data()) != napi_ok) throw Napi::Error::New(env);
    exports.Set("build", build(env));
    init_channel(env, exports, id);
    return exports;
  });
}

}  // namespace usm_ipc

NAPI_MODULE_INIT() { return Napi::RegisterModule(env, exports, usm_ipc::init); }
